// Rows of this member's samples on their way to the members that have their experts, and back. These modules follow
// pointers: the device is the host.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// The members that rows go to. A row goes once for each of its choices, to the member with that expert; choices of
/// experts that are full go nowhere.
class Routes {
 public:
  /// choice (R, 2k) f32 of the rows; `parts`: the experts of each member.
  Routes(const Matrix& choice, const std::vector<Interval>& parts)
      : chosen_(choice.columns / 2), sent_(parts.size(), 0) {
    std::vector<std::vector<std::size_t>> of_member(parts.size());
    for (std::size_t row = 0; row < choice.rows; ++row) {
      for (std::size_t j = 0; j < chosen_; ++j) {
        const auto expert = static_cast<std::int64_t>(choice.at<float>(row, chosen_)[j]);
        for (std::size_t m = 0; m < parts.size(); ++m) {
          if (parts[m].contains(expert)) of_member[m].push_back(row * chosen_ + j);
        }
      }
    }
    for (std::size_t m = 0; m < parts.size(); ++m) {
      sent_[m] = of_member[m].size();
      choices_.insert(choices_.end(), of_member[m].begin(), of_member[m].end());
    }
  }

  std::size_t size() const { return choices_.size(); }
  std::size_t row(std::size_t i) const { return choices_[i] / chosen_; }
  std::size_t choice(std::size_t i) const { return choices_[i] % chosen_; }

  /// Rows that go to each member.
  const std::vector<std::size_t>& sent() const { return sent_; }

 private:
  std::size_t chosen_;
  std::vector<std::size_t> sent_;
  std::vector<std::size_t> choices_;  ///< row * chosen + choice, by the member that they go to
};

constexpr std::size_t weight_column = 0, expert_column = 1, member_column = 2, num_columns = 3;
constexpr float nobody = -1.0F;

/// What the modules have in common.
class ExchangeModule : public OperatorModule {
 public:
  ExchangeModule(const ExpertForm& form, OperatorPlace place) : OperatorModule(std::move(place)), form_(form) {}

 protected:
  Routes routes(const Pass& pass, ValueIndex choice) const {
    return {pass.matrix(choice), context().parts(ShardAxis::experts)};
  }
  /// How many rows have come from each member, by the router's result for them.
  std::vector<std::size_t> came(const Matrix& received) const {
    std::vector<std::size_t> rows(static_cast<std::size_t>(group().size()), 0);
    for (std::size_t row = 0; row < received.rows; ++row) {
      const float member = received.at<float>(row)[member_column];
      if (member != nobody) ++rows[static_cast<std::size_t>(member)];
    }
    return rows;
  }

  /// All-to-all of rows of `bytes` each.
  void exchange(const void* from, std::vector<std::size_t> sent, void* to, std::vector<std::size_t> received,
                std::size_t bytes) const {
    for (std::size_t& rows : sent) rows *= bytes;
    for (std::size_t& rows : received) rows *= bytes;
    group().all_to_all(from, sent, to, received);
  }

  /// Rows of x, once for each choice that goes somewhere, to the members of their experts: `rows` of them come.
  Tensor sent_rows(const Routes& routes, const Matrix& x, const std::vector<std::size_t>& came,
                   std::size_t rows) const {
    const std::size_t bytes = x.columns * size_of(x.type);
    const Tensor packed(arena(), std::max<std::size_t>(routes.size(), 1), x.columns, x.type);
    for (std::size_t i = 0; i < routes.size(); ++i) copy_row(x, routes.row(i), packed, i, bytes);
    Tensor received(arena(), rows, x.columns, x.type);
    if (std::accumulate(came.begin(), came.end(), std::size_t{0}) == 0) {
      std::memset(received.matrix().data, 0, rows * bytes);
    }
    exchange(packed.matrix().data, routes.sent(), received.matrix().data, came, bytes);
    return received;
  }

  /// The way back: for each of `rows` rows the sum of what comes back of it, that of its first choice first.
  Tensor returned_rows(const Routes& routes, const Matrix& x, const std::vector<std::size_t>& came,
                       std::size_t rows) const {
    const Tensor back(arena(), std::max<std::size_t>(routes.size(), 1), x.columns, DType::f32);
    exchange(x.data, came, back.matrix().data, routes.sent(), x.columns * sizeof(float));
    // Sums go in the order of the choices, which members do not keep.
    const auto chosen = static_cast<std::size_t>(form_.chosen);
    std::vector<const float*> parts(rows * chosen, nullptr);
    for (std::size_t i = 0; i < routes.size(); ++i) {
      parts[routes.row(i) * chosen + routes.choice(i)] = back.matrix().at<float>(i);
    }
    Tensor sums(arena(), rows, x.columns, DType::f32);
    for (std::size_t row = 0; row < rows; ++row) {
      float* sum = sums.matrix().at<float>(row);
      std::fill_n(sum, x.columns, 0.0F);
      for (std::size_t j = 0; j < chosen; ++j) {
        const float* part = parts[row * chosen + j];
        for (std::size_t c = 0; part != nullptr && c < x.columns; ++c) sum[c] += part[c];
      }
    }
    return sums;
  }

 private:
  static void copy_row(const Matrix& from, std::size_t row, const Matrix& to, std::size_t place, std::size_t bytes) {
    std::memcpy(static_cast<std::byte*>(to.data) + place * bytes,
                static_cast<const std::byte*>(from.data) + row * from.stride * size_of(from.type), bytes);
  }

  ExpertForm form_;
};

/// Counts are exchanged first, so that each knows how many rows come to it.
class SendChoicesModule final : public ExchangeModule {
 public:
  SendChoicesModule(const op::SendChoices& kind, OperatorPlace place)
      : ExchangeModule(kind.form, std::move(place)), experts_(static_cast<float>(kind.form.experts)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Matrix choice = pass.matrix(input());
    const Routes own = routes(pass, input());
    std::vector<std::size_t> coming(own.sent().size());
    const std::vector<std::size_t> one(own.sent().size(), sizeof(std::size_t));
    group().all_to_all(own.sent().data(), one, coming.data(), one);
    const std::size_t rows = std::accumulate(coming.begin(), coming.end(), std::size_t{0});
    Tensor packed(arena(), std::max<std::size_t>(own.size(), 1), num_columns, DType::f32);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const float* of_row = choice.at<float>(own.row(i));
      float* to = packed.matrix().at<float>(i);
      to[weight_column] = of_row[own.choice(i)];
      to[expert_column] = of_row[choice.columns / 2 + own.choice(i)];
      to[member_column] = static_cast<float>(group().rank());
    }
    Tensor received(arena(), std::max<std::size_t>(rows, 1), num_columns, DType::f32);
    if (rows == 0) {
      float* none = received.f32();
      none[weight_column] = 0.0F;
      none[expert_column] = experts_;
      none[member_column] = nobody;
    }
    exchange(packed.f32(), own.sent(), received.f32(), coming, num_columns * sizeof(float));
    pass.values[output()] = std::move(received);
  }

  /// The gradients of the weights come back.
  void backward_input(const Batch& batch, Pass& pass) override {
    const Routes own = routes(pass, input());
    const Matrix given = pass.gradients[output()].matrix;
    std::vector<float> weights(given.rows), back(std::max<std::size_t>(own.size(), 1));
    for (std::size_t row = 0; row < given.rows; ++row) weights[row] = given.at<float>(row)[weight_column];
    exchange(weights.data(), came(pass.matrix(output())), back.data(), own.sent(), sizeof(float));
    Tensor gradient = new_gradient(batch, input());
    const Matrix to = gradient;
    kernels().fill_zero(to.f32(), to.size());
    for (std::size_t i = 0; i < own.size(); ++i) to.at<float>(own.row(i))[own.choice(i)] = back[i];
    add_gradient(pass, input(), make_gradient(std::move(gradient)));
  }

 private:
  float experts_;
};

class SendRowsModule final : public ExchangeModule {
 public:
  SendRowsModule(const op::SendRows& kind, OperatorPlace place) : ExchangeModule(kind.form, std::move(place)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Matrix received = pass.matrix(input(2));
    pass.values[output()] = sent_rows(routes(pass, input(1)), pass.matrix(input()), came(received), received.rows);
  }
  void backward_input(const Batch& batch, Pass& pass) override {
    add_gradient(pass, input(),
                 make_gradient(returned_rows(routes(pass, input(1)), pass.gradients[output()].matrix,
                                             came(pass.matrix(input(2))), rows(batch, input()))));
  }
};

class ReturnRowsModule final : public ExchangeModule {
 public:
  ReturnRowsModule(const op::ReturnRows& kind, OperatorPlace place) : ExchangeModule(kind.form, std::move(place)) {}

  void forward(Batch& batch, Pass& pass) override {
    pass.values[output()] =
        returned_rows(routes(pass, input(1)), pass.matrix(input()), came(pass.matrix(input(2))), rows(batch, output()));
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const Matrix received = pass.matrix(input(2));
    add_gradient(pass, input(),
                 make_gradient(sent_rows(routes(pass, input(1)), pass.gradients[output()].matrix, came(received),
                                         received.rows)));
  }
};

}  // namespace

std::unique_ptr<OperatorModule> make_module(const op::SendChoices& kind, OperatorPlace place) {
  return std::make_unique<SendChoicesModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::SendRows& kind, OperatorPlace place) {
  return std::make_unique<SendRowsModule>(kind, std::move(place));
}
std::unique_ptr<OperatorModule> make_module(const op::ReturnRows& kind, OperatorPlace place) {
  return std::make_unique<ReturnRowsModule>(kind, std::move(place));
}

}  // namespace pptrain
