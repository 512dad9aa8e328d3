// Rows of this member's samples on their way to the members that have their experts, and back.
#include <algorithm>
#include <array>
#include <numeric>

#include "nn/operators/modules.hpp"

namespace pptrain {
namespace {

/// A choice on its way: its weight, its expert and the member that it comes from.
constexpr std::size_t num_columns = 3;

/// What the modules have in common. A row goes once for each of its choices, to the member with
/// that expert: rows are dispatched to all experts, and a member's experts lie one behind the
/// other. Choices of experts that are full go nowhere.
class ExchangeModule : public OperatorModule {
 public:
  ExchangeModule(const ExpertForm& form, OperatorPlace place)
      : OperatorModule(std::move(place)), form_(form) {}

 protected:
  using Counts = std::vector<std::size_t>;

  const ExpertForm& form() const { return form_; }
  Device& device() const { return arena().device(); }

  /// The order in which rows go, by the router's result.
  const ExpertOrder& routes(Pass& pass, ValueIndex choice) const {
    std::shared_ptr<const ExpertOrder>& order = pass.orders[choice];
    if (order == nullptr) {
      order = std::make_shared<const ExpertOrder>(experts(), pass.matrix(choice),
                                                  Interval{0, form_.experts}, arena());
    }
    return *order;
  }
  /// Rows that go to each member.
  Counts sent(const ExpertOrder& routes) const {
    Counts rows;
    for (const Interval& part : context().parts(ShardAxis::experts)) {
      rows.push_back(routes.begin(part.end) - routes.begin(part.begin));
    }
    return rows;
  }
  /// How many rows have come from each member, by the choices that came with them.
  Counts came(const Matrix& received) const {
    const std::vector<std::int32_t> rows =
        count_rows(experts(), received.columns_from(1, 2), {0, group().size()}, arena());
    return {rows.begin(), rows.end()};
  }

  /// All-to-all of rows of `bytes` each.
  void exchange(const void* from, Counts sent, void* to, Counts received, std::size_t bytes) const {
    for (std::size_t& rows : sent) rows *= bytes;
    for (std::size_t& rows : received) rows *= bytes;
    group().all_to_all(from, sent, to, received);
  }

  /// Rows of x, once for each choice that goes somewhere, to the members of their experts: `rows`
  /// of them come.
  Tensor sent_rows(const ExpertOrder& routes, const Matrix& x, const Counts& came,
                   std::size_t rows) const {
    const std::size_t bytes = x.columns * size_of(x.type);
    const Tensor packed(arena(), std::max<std::size_t>(routes.num_dispatched(), 1), x.columns,
                        x.type);
    experts().dispatch(routes.places(), x, packed);
    Tensor received(arena(), rows, x.columns, x.type);
    if (std::accumulate(came.begin(), came.end(), std::size_t{0}) == 0) {
      device().fill(received.matrix().data, 0, rows * bytes);
    }
    exchange(packed.matrix().data, sent(routes), received.matrix().data, came, bytes);
    return received;
  }

  /// The way back: for each row the sum of what comes back of it, that of its first choice first.
  Tensor returned_rows(const ExpertOrder& routes, const Matrix& x, const Counts& came) const {
    const Tensor back(arena(), std::max<std::size_t>(routes.num_dispatched(), 1), x.columns,
                      DType::f32);
    exchange(x.data, came, back.matrix().data, sent(routes), x.columns * sizeof(float));
    Tensor sums(arena(), routes.rows(), x.columns, DType::f32);
    experts().combine(routes.places(), back, sums);
    return sums;
  }

 private:
  ExpertForm form_;
};

/// Counts are exchanged first, so that each knows how many rows come to it.
class SendChoicesModule final : public ExchangeModule {
 public:
  SendChoicesModule(const op::SendChoices& kind, OperatorPlace place)
      : ExchangeModule(kind.form, std::move(place)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const ExpertOrder& own = routes(pass, input());
    const Counts coming = exchanged(sent(own));
    const std::size_t rows = std::accumulate(coming.begin(), coming.end(), std::size_t{0});
    const Tensor packed(arena(), std::max<std::size_t>(own.num_dispatched(), 1), num_columns,
                        DType::f32);
    experts().pack_choices(own.places(), pass.matrix(input()), static_cast<float>(group().rank()),
                           packed);
    Tensor received(arena(), std::max<std::size_t>(rows, 1), num_columns, DType::f32);
    if (rows == 0) {
      // Rows of no expert, which come from no member.
      const std::array<float, num_columns> none = {0.0F, static_cast<float>(form().experts),
                                                   static_cast<float>(group().size())};
      device().upload(received.f32(), none.data(), sizeof(none));
    }
    exchange(packed.f32(), sent(own), received.f32(), coming, num_columns * sizeof(float));
    pass.values[output()] = std::move(received);
  }

  /// The gradients of the weights come back.
  void backward_input(const Batch& batch, Pass& pass) override {
    const ExpertOrder& own = routes(pass, input());
    const Matrix given = pass.gradients[output()].matrix;
    const Tensor weights(arena(), given.rows, 1, DType::f32),
        back(arena(), std::max<std::size_t>(own.num_dispatched(), 1), 1, DType::f32);
    kernels().convert(given.columns_from(0, 1), weights);
    exchange(weights.f32(), came(pass.matrix(output())), back.f32(), sent(own), sizeof(float));
    Tensor gradient = new_gradient(batch, input());
    experts().give_weights(own.places(), back.f32(), gradient);
    add_gradient(pass, input(), make_gradient(std::move(gradient)));
  }

 private:
  /// What each member sends this one, from what this one sends each.
  Counts exchanged(const Counts& sent) const {
    const Counts one(sent.size(), sizeof(std::size_t));
    const std::size_t bytes = sent.size() * sizeof(std::size_t);
    const Buffer from(arena(), bytes), to(arena(), bytes);
    device().upload(from.data(), sent.data(), bytes);
    group().all_to_all(from.data(), one, to.data(), one);
    Counts coming(sent.size());
    device().download(coming.data(), to.data(), bytes);
    return coming;
  }
};

class SendRowsModule final : public ExchangeModule {
 public:
  SendRowsModule(const op::SendRows& kind, OperatorPlace place)
      : ExchangeModule(kind.form, std::move(place)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    const Matrix received = pass.matrix(input(2));
    pass.values[output()] =
        sent_rows(routes(pass, input(1)), pass.matrix(input()), came(received), received.rows);
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    add_gradient(
        pass, input(),
        make_gradient(returned_rows(routes(pass, input(1)), pass.gradients[output()].matrix,
                                    came(pass.matrix(input(2))))));
  }
};

class ReturnRowsModule final : public ExchangeModule {
 public:
  ReturnRowsModule(const op::ReturnRows& kind, OperatorPlace place)
      : ExchangeModule(kind.form, std::move(place)) {}

  void forward(Batch& /*batch*/, Pass& pass) override {
    pass.values[output()] =
        returned_rows(routes(pass, input(1)), pass.matrix(input()), came(pass.matrix(input(2))));
  }
  void backward_input(const Batch& /*batch*/, Pass& pass) override {
    const Matrix received = pass.matrix(input(2));
    add_gradient(pass, input(),
                 make_gradient(sent_rows(routes(pass, input(1)), pass.gradients[output()].matrix,
                                         came(received), received.rows)));
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
