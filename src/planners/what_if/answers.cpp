#include "planners/what_if/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "base/names.hpp"
#include "base/units.hpp"
#include "planners/describe/describe_summary.hpp"

namespace pptrain {
namespace {

/// Words about rows of one sweep.
class SweepWords {
 public:
  explicit SweepWords(const Sweep& sweep) : sweep_(sweep) {}

  bool per_sample() const { return !sweep_.counts_tokens; }
  double speed_of(const SweepRow& row) const { return 1.0 / row.seconds_each(per_sample()); }
  double money_of(const SweepRow& row) const { return row.money_each(per_sample()); }
  bool is_priced(const SweepRow& row) const { return sweep_.currency.empty() || row.has_money(); }

  std::string speed_text(const SweepRow& row) const {
    return fmt::format("{} {}/s", format_count(speed_of(row)), per_sample() ? "samples" : "tokens");
  }
  std::string money_text(const SweepRow& row) const {
    const double amount = money_of(row) * (per_sample() ? 1e6 : 1e9);
    const std::string each = per_sample() ? "10^6 samples" : "10^9 tokens";
    return sweep_.currency.empty()
               ? fmt::format("{} device-hours per {}", format_count(amount), each)
               : fmt::format("{} per {}", format_money(amount, sweep_.currency), each);
  }
  const char* money_word() const { return sweep_.currency.empty() ? "device-hours" : "money"; }

  /// The values of the axes that are varied, but for some: "2 dgx-h100, batch 64".
  std::string point_text(const SweepRow& row, const std::vector<std::size_t>& without = {}) const {
    std::vector<std::string> parts;
    for (std::size_t a = 0; a < sweep_.axes.size(); ++a) {
      const bool is_left_out = std::find(without.begin(), without.end(), a) != without.end();
      if (sweep_.axes[a].is_varied() && !is_left_out && row.values[a] != "-")
        parts.push_back(value_text(a, row.values[a]));
    }
    return join(parts);
  }
  std::string value_text(std::size_t axis, const std::string& value) const {
    const SweepAxis& of = sweep_.axes[axis];
    // "2 dgx-h100", but "2 nodes 4 x l40s".
    const bool begins_with_digit = of.name.find_first_of("0123456789") == 0;
    if (of.kind == SweepAxis::Kind::nodes)
      return fmt::format("{} {}{}", value,
                         !begins_with_digit ? ""
                         : value == "1"     ? "node "
                                            : "nodes ",
                         of.name);
    return of.kind == SweepAxis::Kind::cluster ? value : fmt::format("{} {}", of.name, value);
  }
  /// " (batch 64)", or "" where nothing else is varied.
  std::string beside_text(const SweepRow& row, const std::vector<std::size_t>& without) const {
    const std::string text = point_text(row, without);
    return text.empty() ? "" : fmt::format(" ({})", text);
  }

 private:
  const Sweep& sweep_;
};

const SweepRow* least(const Sweep& sweep, const std::function<double(const SweepRow&)>& value) {
  const SweepRow* best = nullptr;
  const SweepWords words(sweep);
  for (const SweepRow& row : sweep.rows) {
    if (row.plan && words.is_priced(row) && (best == nullptr || value(row) < value(*best)))
      best = &row;
  }
  return best;
}

void add_best(const Sweep& sweep, std::vector<std::string>& answers) {
  const SweepWords words(sweep);
  const SweepRow* fastest = least(sweep, [&](const SweepRow& row) { return -words.speed_of(row); });
  const SweepRow* cheapest = least(sweep, [&](const SweepRow& row) { return words.money_of(row); });
  if (fastest == nullptr || words.point_text(*fastest).empty()) return;
  const auto says = [&](const char* what, const SweepRow& row) {
    answers.push_back(fmt::format("{}: {} with {} and {}", what, words.point_text(row),
                                  words.speed_text(row), words.money_text(row)));
  };
  if (fastest == cheapest) return says("fastest and cheapest", *fastest);
  says("fastest", *fastest);
  says("cheapest", *cheapest);
}

/// The axes, and those of prices.
std::vector<std::size_t> with_prices(std::vector<std::size_t> axes, const Sweep& sweep) {
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].kind == SweepAxis::Kind::price) axes.push_back(a);
  }
  return axes;
}

/// What the nodes of one row more than of the one before give.
std::string more_nodes_text(const SweepWords& words, std::size_t axis, const SweepRow& few,
                            const SweepRow& many) {
  return fmt::format("{} for {} give {:.3g} x the speed for {:.3g} x the {} per {}",
                     many.values[axis], few.values[axis],
                     words.speed_of(many) / words.speed_of(few),
                     words.money_of(many) / words.money_of(few), words.money_word(),
                     words.per_sample() ? "sample" : "token");
}

void add_more_nodes(const Sweep& sweep, std::size_t axis, std::size_t most,
                    std::vector<std::string>& answers) {
  constexpr std::size_t most_steps = 6;
  constexpr double worth_telling = 1.005;
  const SweepWords words(sweep);
  std::set<std::string> told;  // with other prices the ratios are the same where all nodes have the
                               // same price
  std::set<std::string> besides;
  for (const SweepChain& chain : chains_of(sweep, axis, false)) {
    if (told.size() == most) return;
    std::vector<std::string> steps;
    const SweepRow* enough = chain.rows.front();
    for (std::size_t i = 1; i < chain.rows.size(); ++i) {
      const SweepRow& row = *chain.rows[i];
      if (words.is_priced(row) && words.is_priced(*chain.rows[i - 1]) && steps.size() < most_steps)
        steps.push_back(more_nodes_text(words, axis, *chain.rows[i - 1], row));
      if (words.speed_of(row) > worth_telling * words.speed_of(*enough)) enough = &row;
    }
    std::string beside = words.beside_text(*enough, with_prices({axis}, sweep));
    if (steps.empty() || !told.insert(beside + join(steps)).second) continue;
    if (!besides.insert(beside).second) beside = words.beside_text(*enough, {axis});
    answers.push_back(
        fmt::format("more {}{}: {}", sweep.axes[axis].name, beside, join(steps, "; ")));
    if (enough == chain.rows.back()) continue;
    answers.push_back(
        fmt::format("leave out {}{}: with more than {} of them no plan that was found is faster",
                    sweep.axes[axis].name, beside, enough->values[axis]));
  }
}

/// What plans leave out of their clusters, each once.
void add_left_out(const Sweep& sweep, std::size_t most, std::vector<std::string>& answers) {
  std::vector<std::string> told;
  for (const SweepRow& row : sweep.rows) {
    if (!row.plan) continue;
    const std::vector<std::string> names = groups_left_out(*row.plan, row.cluster);
    if (names.empty()) continue;
    const std::string text =
        fmt::format("leave out {} of \"{}\": no plan that was found {} with them",
                    join(names, " and "), row.cluster.name, better_text(*row.plan));
    if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(text);
  }
  answers.insert(answers.end(), told.begin(),
                 told.begin() + static_cast<std::ptrdiff_t>(std::min(most, told.size())));
}

std::string style_text(const Plan& plan) {
  switch (style_of(plan)) {
    case PlanStyle::zero: return fmt::format("ZeRO {} without a pipeline", zero_stage_of(plan));
    case PlanStyle::pipeline: return fmt::format("a pipeline of {} stages", plan.num_stages());
    case PlanStyle::replicas: return "replicas alone";
  }
  return "";
}

std::vector<std::size_t> parallelism_axes(const Sweep& sweep) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].key.starts_with("parallelism.")) axes.push_back(a);
  }
  return axes;
}

/// Sentences on where the way to share a model changes along an axis.
void add_styles(const Sweep& sweep, std::size_t axis, std::size_t most,
                std::vector<std::string>& answers) {
  const SweepWords words(sweep);
  std::vector<std::size_t> without = with_prices(parallelism_axes(sweep), sweep);
  without.push_back(axis);
  std::size_t told = 0;
  for (const SweepChain& chain : chains_of(sweep, axis, true)) {
    for (std::size_t i = 1; i < chain.rows.size() && told < most; ++i) {
      const SweepRow& before = *chain.rows[i - 1];
      const SweepRow& row = *chain.rows[i];
      if (style_of(*before.plan) == style_of(*row.plan)) continue;
      answers.push_back(fmt::format("from {} on {} is fastest, below that {}{}",
                                    words.value_text(axis, row.values[axis]), style_text(*row.plan),
                                    style_text(*before.plan), words.beside_text(row, without)));
      ++told;
    }
  }
}

/// How many plans share the model in which way, where no axis says when.
void add_style_counts(const Sweep& sweep, std::vector<std::string>& answers) {
  std::map<PlanStyle, int> counts;
  int all = 0;
  for (const SweepRow& row : sweep.rows) {
    if (!row.plan) continue;
    ++counts[style_of(*row.plan)];
    ++all;
  }
  if (all == 0) return;
  answers.push_back(fmt::format(
      "of {} plans {} are ZeRO without a pipeline, {} pipelines, {} replicas alone", all,
      counts[PlanStyle::zero], counts[PlanStyle::pipeline], counts[PlanStyle::replicas]));
}

bool is_pooled(const Sweep& sweep, std::size_t axis, bool pools_parallelism) {
  const SweepAxis& of = sweep.axes[axis];
  return pools_parallelism &&
         (of.key.starts_with("parallelism.") || of.kind == SweepAxis::Kind::price);
}

}  // namespace

int zero_stage_of(const Plan& plan) {
  int zero = 0;
  for (const Stage& stage : plan.stages) zero = std::max(zero, stage.zero_stage);
  return zero;
}

PlanStyle style_of(const Plan& plan) {
  if (plan.num_stages() > 1) return PlanStyle::pipeline;
  return zero_stage_of(plan) > 0 ? PlanStyle::zero : PlanStyle::replicas;
}

std::string plan_in_short(const Plan& plan) {
  const int zero = zero_stage_of(plan);
  const std::string saves = zero > 0 ? fmt::format(" ZeRO {}", zero) : "";
  if (!plan.uniform())
    return fmt::format("{} stages on {} devices{}", plan.num_stages(), plan.num_devices(), saves);
  return fmt::format("PP {} DP {}{} TP {}{}", plan.num_stages(),
                     plan.stages.front().replicas / plan.context,
                     plan.context > 1 ? fmt::format(" CP {}", plan.context) : "",
                     plan.stages.front().tensor_parallel, saves);
}

std::vector<SweepChain> chains_of(const Sweep& sweep, std::size_t axis, bool pools_parallelism) {
  if (!sweep.axes[axis].is_varied() || !sweep.axes[axis].is_numeric()) return {};
  const SweepWords words(sweep);
  std::map<std::vector<std::string>, std::map<double, const SweepRow*>> by_others;
  std::vector<std::vector<std::string>> order;
  for (const SweepRow& row : sweep.rows) {
    if (!row.plan || std::isnan(value_number(row.values[axis]))) continue;
    std::vector<std::string> others;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (a != axis && !is_pooled(sweep, a, pools_parallelism)) others.push_back(row.values[a]);
    }
    if (!by_others.contains(others)) order.push_back(others);
    const SweepRow*& kept = by_others[others][value_number(row.values[axis])];
    if (kept == nullptr || words.speed_of(row) > words.speed_of(*kept)) kept = &row;
  }
  std::vector<SweepChain> chains;
  for (const auto& others : order) {
    SweepChain chain = {axis, {}};
    for (const auto& [value, row] : by_others[others]) chain.rows.push_back(row);
    if (chain.rows.size() > 1) chains.push_back(std::move(chain));
  }
  return chains;
}

std::vector<std::string> sweep_answers(const Sweep& sweep, std::size_t most) {
  std::vector<std::string> answers;
  add_best(sweep, answers);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].kind == SweepAxis::Kind::nodes) add_more_nodes(sweep, a, most, answers);
  }
  add_left_out(sweep, most, answers);
  const std::size_t before = answers.size();
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const bool is_style = sweep.axes[a].key.starts_with("parallelism.");
    if (sweep.axes[a].kind != SweepAxis::Kind::price && !is_style)
      add_styles(sweep, a, most, answers);
  }
  if (answers.size() == before) add_style_counts(sweep, answers);
  return answers;
}

}  // namespace pptrain
