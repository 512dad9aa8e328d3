#include <algorithm>
#include <cmath>
#include <map>

#include "optim/optimizer_steps.hpp"

namespace pptrain {
namespace {

constexpr float least_root = 0x1p-23F;  // fp32's, as PyTorch has it

double mean_of(double sum, std::int64_t count) { return sum / static_cast<double>(count); }

/// Adafactor (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost",
/// ICML 2018), as PyTorch writes it. Sums go over the replicas that divide the state first, then
/// over the tensor-parallel members, in double: what a device holds of a parameter is updated as on
/// one device but for the order of these sums.
class Adafactor final : public WholeUpdate {
 public:
  Adafactor(const WholeContext& context, const UpdateGroups& groups, std::vector<WholeRun> runs)
      : config_(context.config),
        kernels_(context.backend.kernels),
        groups_(groups),
        runs_(std::move(runs)) {
    for (std::size_t r = 0; r < runs_.size(); ++r) run_of_[runs_[r].number] = r;
    for (const LocalParameter& parameter : groups_.store->parameters()) {
      Sums sums;
      sums.begin = num_sums_;
      if (is_matrix(parameter)) {
        sums.columns = parameter.rows;
        sums.squares = parameter.rows + parameter.columns;
      }
      sums_.push_back(sums);
      num_sums_ += sums.squares + 1;
    }
  }

  void begin_part(const StepValues& values) override {
    const double number = static_cast<double>(values.step) + 1.0;
    share_ = static_cast<float>(std::pow(number, config_.beta2_decay));
    rate_ = std::min(values.learning_rate, 1.0 / std::sqrt(number));
    learning_rate_ = values.learning_rate;
    gradient_scale_ = static_cast<float>(values.gradient_scale);
    sum_squares();
    update_means();
    sum_rows();
    sum_steps();
  }

  void update(std::size_t number) override {
    const WholeRun& own = runs_[run_of_.at(number)];
    const std::size_t p = index_of(own);
    const float decay = static_cast<float>(1.0 - learning_rate_ * own.weight_decay);
    const auto count = own.parameter().spec.size();
    const double root = std::sqrt(mean_of(weight_squares_[p], count));
    const double longest =
        std::max(1.0, std::sqrt(mean_of(step_squares_[p], count)) / config_.clip_threshold);
    const auto step = static_cast<float>(std::max(config_.epsilon2, root) * rate_ / longest);
    float* weights = own.run.weights;
    for_each_step(own, [&](std::size_t i, float u) { weights[i] = weights[i] * decay - step * u; });
    if (own.run.copies.data != nullptr)
      kernels_.convert({weights, 1, own.run.size}, own.run.copies);
  }

 private:
  /// The places of a parameter's sums: of squared gradients by row, by column, and of squared
  /// weights.
  struct Sums {
    std::size_t begin = 0;
    std::size_t columns = 0;  ///< from `begin` on
    std::size_t squares = 0;  ///< from `begin` on
  };

  static bool is_matrix(const LocalParameter& parameter) {
    return parameter.spec.shape.size() == 2;
  }
  static bool is_divided(const LocalParameter& parameter) {
    return parameter.spec.axis != ShardAxis::none;
  }
  std::size_t index_of(const WholeRun& own) const {
    return static_cast<std::size_t>(&own.parameter() - groups_.store->parameters().data());
  }
  /// What no member before this one holds, of the run.
  Interval distinct(const WholeRun& own) const {
    const Interval whole = {own.run.begin, own.run.begin + static_cast<std::int64_t>(own.run.size)};
    return intersect(whole, groups_.distinct(own.parameter()));
  }

  /// action(row, first column, number of columns, place in the run) for each piece of a row that
  /// the elements [begin, end) of the local matrix have.
  template <class Action>
  static void for_each_row(const WholeRun& own, Interval elements, const Action& action) {
    const auto columns = static_cast<std::int64_t>(own.parameter().columns);
    for (std::int64_t e = elements.begin; e < elements.end;) {
      const std::int64_t row = e / columns, column = e % columns;
      const std::int64_t count = std::min(columns - column, elements.end - e);
      action(static_cast<std::size_t>(row), static_cast<std::size_t>(column),
             static_cast<std::size_t>(count), static_cast<std::size_t>(e - own.run.begin));
      e += count;
    }
  }

  /// action(place, u) for the elements of a run, or of a part of it: u = g / max(sqrt(V), eps).
  template <class Action>
  void for_each_step(const WholeRun& own, Interval elements, const Action& action) const {
    const float* gradients = own.run.gradients;
    if (!is_matrix(own.parameter())) {
      for (std::int64_t e = elements.begin; e < elements.end; ++e) {
        const auto i = static_cast<std::size_t>(e - own.run.begin);
        action(i,
               gradients[i] * gradient_scale_ / std::max(std::sqrt(own.state[0][i]), least_root));
      }
      return;
    }
    const float* rows = own.state[0];
    const float* columns = own.state[1];
    const std::size_t p = index_of(own);
    const auto mean = static_cast<float>(mean_of(row_sums_[p], own.parameter().spec.shape[0]));
    for_each_row(own, elements,
                 [&](std::size_t row, std::size_t column, std::size_t count, std::size_t place) {
                   const float of_row = rows[row] / std::max(mean, least_root);
                   for (std::size_t c = 0; c < count; ++c) {
                     const float root = std::sqrt(of_row * columns[column + c]);
                     action(place + c,
                            gradients[place + c] * gradient_scale_ / std::max(root, least_root));
                   }
                 });
  }
  template <class Action>
  void for_each_step(const WholeRun& own, const Action& action) const {
    for_each_step(own, {own.run.begin, own.run.begin + static_cast<std::int64_t>(own.run.size)},
                  action);
  }

  /// Squared gradients by row and column, and squared weights, of whole parameters. What members
  /// hold too counts once in what is summed over them.
  void sum_squares() {
    sum_values_.assign(num_sums_, 0.0);
    for (const WholeRun& own : runs_) {
      const LocalParameter& parameter = own.parameter();
      const Sums& sums = sums_[index_of(own)];
      double* values = sum_values_.data() + sums.begin;
      const Interval counted = distinct(own);
      for (std::int64_t e = counted.begin; e < counted.end; ++e) {
        const double weight = own.run.weights[e - own.run.begin];
        values[sums.squares] += weight * weight;
      }
      if (!is_matrix(parameter)) continue;
      const Interval whole = {own.run.begin,
                              own.run.begin + static_cast<std::int64_t>(own.run.size)};
      const auto square = [&](std::size_t place) {
        const double g = own.run.gradients[place] * gradient_scale_;
        return g * g;
      };
      for_each_row(own, whole,
                   [&](std::size_t row, std::size_t, std::size_t count, std::size_t place) {
                     for (std::size_t c = 0; c < count; ++c) values[row] += square(place + c);
                   });
      for_each_row(own, counted,
                   [&](std::size_t, std::size_t column, std::size_t count, std::size_t place) {
                     for (std::size_t c = 0; c < count; ++c)
                       values[sums.columns + column + c] += square(place + c);
                   });
    }
    if (groups_.owners != nullptr)
      groups_.owners->all_reduce_sum(sum_values_.data(), sum_values_.size());
    sum_over_members();
    weight_squares_.clear();
    for (const Sums& sums : sums_)
      weight_squares_.push_back(sum_values_[sums.begin + sums.squares]);
  }

  /// Sums over the members what each has a part of: of a matrix whose rows are divided the sums by
  /// column, and the other way round.
  void sum_over_members() {
    const std::vector<LocalParameter>& parameters = groups_.store->parameters();
    std::vector<Interval> summed;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!is_divided(parameters[p])) continue;
      const auto begin = static_cast<std::int64_t>(sums_[p].begin);
      const auto columns = begin + static_cast<std::int64_t>(sums_[p].columns);
      const auto squares = begin + static_cast<std::int64_t>(sums_[p].squares);
      if (is_matrix(parameters[p])) {
        summed.push_back(parameters[p].spec.dimension == 0 ? Interval{columns, squares}
                                                           : Interval{begin, columns});
      }
      summed.push_back({squares, squares + 1});
    }
    std::vector<double> values;
    for (const Interval& part : summed) {
      values.insert(values.end(), sum_values_.begin() + part.begin, sum_values_.begin() + part.end);
    }
    if (!values.empty()) groups_.members->all_reduce_sum(values.data(), values.size());
    auto next = values.begin();
    for (const Interval& part : summed) {
      std::copy_n(next, part.size(), sum_values_.begin() + part.begin);
      next += part.size();
    }
  }

  /// The running means: those of squared gradients of vectors, those of rows and columns of
  /// matrices.
  void update_means() {
    for (const WholeRun& own : runs_) {
      if (!is_matrix(own.parameter())) {
        for (std::size_t i = 0; i < own.run.size; ++i) {
          const float g = own.run.gradients[i] * gradient_scale_;
          own.state[0][i] += share_ * (g * g - own.state[0][i]);
        }
        continue;
      }
      const Sums& sums = sums_[index_of(own)];
      const std::vector<std::int64_t>& shape = own.parameter().spec.shape;
      const double* values = sum_values_.data() + sums.begin;
      move_to_means(own.state[0], values, own.parameter().rows, shape[1]);
      move_to_means(own.state[1], values + sums.columns, own.parameter().columns, shape[0]);
    }
  }

  void move_to_means(float* state, const double* sums, std::size_t n, std::int64_t count) const {
    for (std::size_t i = 0; i < n; ++i) {
      state[i] += share_ * (static_cast<float>(mean_of(sums[i], count)) - state[i]);
    }
  }

  /// Sums of the row means. A row counts where its first element is.
  void sum_rows() {
    const std::vector<LocalParameter>& parameters = groups_.store->parameters();
    row_sums_.assign(parameters.size(), 0.0);
    for (const WholeRun& own : runs_) {
      if (!is_matrix(own.parameter())) continue;
      for_each_row(own, distinct(own),
                   [&](std::size_t row, std::size_t column, std::size_t, std::size_t) {
                     if (column == 0) row_sums_[index_of(own)] += own.state[0][row];
                   });
    }
    sum_scalars(row_sums_,
                [](const LocalParameter& p) { return is_matrix(p) && p.spec.dimension == 0; });
  }

  /// Squares of the steps before they are scaled.
  void sum_steps() {
    step_squares_.assign(groups_.store->parameters().size(), 0.0);
    for (const WholeRun& own : runs_) {
      double& sum = step_squares_[index_of(own)];
      for_each_step(own, distinct(own),
                    [&](std::size_t, float u) { sum += static_cast<double>(u) * u; });
    }
    sum_scalars(step_squares_, [](const LocalParameter&) { return true; });
  }

  /// One value of each parameter; over the members those of divided parameters for which `differs`.
  template <class Differs>
  void sum_scalars(std::vector<double>& scalars, const Differs& differs) {
    if (groups_.owners != nullptr) groups_.owners->all_reduce_sum(scalars.data(), scalars.size());
    const std::vector<LocalParameter>& parameters = groups_.store->parameters();
    std::vector<double> values;
    for (std::size_t p = 0; p < scalars.size(); ++p) {
      if (is_divided(parameters[p]) && differs(parameters[p])) values.push_back(scalars[p]);
    }
    if (!values.empty()) groups_.members->all_reduce_sum(values.data(), values.size());
    auto next = values.begin();
    for (std::size_t p = 0; p < scalars.size(); ++p) {
      if (is_divided(parameters[p]) && differs(parameters[p])) scalars[p] = *next++;
    }
  }

  const OptimizerConfig& config_;
  Kernels& kernels_;
  const UpdateGroups& groups_;
  std::vector<WholeRun> runs_;
  std::map<std::size_t, std::size_t> run_of_;  // by number
  std::vector<Sums> sums_;                     // by parameter of the store, as all below
  std::size_t num_sums_ = 0;
  std::vector<double> sum_values_;
  std::vector<double> weight_squares_;
  std::vector<double> row_sums_;
  std::vector<double> step_squares_;
  double learning_rate_ = 0.0;
  double rate_ = 0.0;  // at most 1 / sqrt(step)
  float share_ = 0.0F;
  float gradient_scale_ = 1.0F;
};

}  // namespace

OptimizerSteps optimizer_steps::adafactor() {
  const auto make = [](const WholeContext& context, const UpdateGroups& groups,
                       std::vector<WholeRun> runs) {
    return std::unique_ptr<WholeUpdate>(
        std::make_unique<Adafactor>(context, groups, std::move(runs)));
  };
  return {.whole = make};
}

}  // namespace pptrain
