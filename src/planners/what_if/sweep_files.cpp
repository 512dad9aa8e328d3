#include "planners/what_if/sweep_files.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "planners/what_if/answers.hpp"
#include "profile/json.hpp"

namespace pptrain {
namespace {

constexpr std::size_t most_answers = 4;  ///< of each kind, as text

std::vector<std::size_t> varied_axes(const Sweep& sweep) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].is_varied()) axes.push_back(a);
  }
  return axes;
}

/// Figures of a point under the names of the JSON document, in the order of CSV; those that are not
/// known are not there.
std::vector<std::pair<std::string, std::optional<double>>> figures_of(const Sweep& sweep,
                                                                      const SweepRow& row) {
  const Prediction empty;
  const Prediction& predicted = row.plan ? *row.plan->predicted : empty;
  const SpeedPrediction speed = predicted.speed.value_or(SpeedPrediction());
  const CostPrediction cost = predicted.cost.value_or(CostPrediction());
  const bool there = row.plan.has_value();
  const auto known = [there](double value) { return there ? std::optional(value) : std::nullopt; };
  std::optional<double> device_hours;
  if (there && sweep.counts_tokens)
    device_hours = row.seconds_each(false) / 3600.0 * row.plan->num_devices() * 1e9;
  return {
      {"iteration_seconds", known(predicted.iteration_seconds)},
      {"samples_per_second", known(speed.samples_per_second)},
      {"tokens_per_second", speed.tokens_per_second},
      {"model_flops_utilization", speed.utilization},
      {"devices_used", known(there ? row.plan->num_devices() : 0)},
      {"nodes_used", predicted.cost ? known(cost.nodes) : std::nullopt},
      {"goodput", predicted.failures ? known(predicted.failures->goodput) : std::nullopt},
      {"money_per_hour", cost.money_per_hour},
      {"money_per_step", cost.money_per_step},
      {"money_per_billion_tokens", cost.money_per_billion_tokens},
      {"device_hours_per_billion_tokens", device_hours},
      {"watts", cost.watts},
      {"training_seconds", cost.training ? known(cost.training->seconds) : std::nullopt},
      {"training_node_hours", cost.training ? known(cost.training->node_hours) : std::nullopt},
      {"training_money", cost.training ? cost.training->money : std::nullopt},
      {"training_kilowatt_hours", cost.training ? cost.training->kilowatt_hours : std::nullopt}};
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> safe;
  for (const std::string& cell : cells) safe.push_back(csv_cell(cell));
  return join(safe, ",") + "\n";
}

/// Header of the column of money.
std::string money_title(const Sweep& sweep) {
  const std::string what = sweep.currency.empty() ? "device-h" : sweep.currency;
  return fmt::format("{}/{}", what, sweep.counts_tokens ? "10^9" : "10^6");
}

std::string money_cell(const Sweep& sweep, const SweepRow& row) {
  if (!sweep.currency.empty() && !row.has_money()) return "-";
  const double amount = row.money_each(!sweep.counts_tokens) * (sweep.counts_tokens ? 1e9 : 1e6);
  if (sweep.currency.empty()) return format_count(amount);
  const std::string text = format_money(amount, "");
  return text.substr(0, text.size() - 1);
}

/// "1/64/1/3": pipeline, data and tensor degree and ZeRO stage of a plan; of one whose stages
/// differ its stages.
std::string degrees_cell(const Plan& plan) {
  if (!plan.uniform()) return plan_in_short(plan);
  return fmt::format("{}/{}/{}/{}", plan.num_stages(), plan.stages.front().replicas / plan.context,
                     plan.stages.front().tensor_parallel, zero_stage_of(plan));
}

std::vector<std::string> text_row(const Sweep& sweep, const SweepRow& row) {
  std::vector<std::string> cells = {row.on_front ? "*" : ""};
  for (const std::size_t axis : varied_axes(sweep)) cells.push_back(row.values[axis]);
  if (!row.plan) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "no plan: " + row.why_not});
    return cells;
  }
  const Prediction& predicted = *row.plan->predicted;
  const SpeedPrediction speed = predicted.speed.value_or(SpeedPrediction());
  cells.push_back(format_seconds(predicted.iteration_seconds));
  cells.push_back(
      format_count(sweep.counts_tokens ? *speed.tokens_per_second : speed.samples_per_second));
  cells.push_back(speed.utilization ? format_percent(*speed.utilization) : "-");
  cells.push_back(money_cell(sweep, row));
  cells.push_back(degrees_cell(*row.plan));
  return cells;
}

Json axis_json(const SweepAxis& axis) {
  static const char* const kinds[] = {"cluster", "nodes", "batch", "setting", "price"};
  return {{"kind", kinds[static_cast<int>(axis.kind)]},
          {"name", axis.name},
          {"key", axis.key},
          {"values", axis.values}};
}

Json point_json(const Sweep& sweep, const SweepRow& row) {
  Json json = {{"values", row.values},
               {"cluster", row.cluster.name},
               {"devices", row.cluster.num_devices()}};
  for (const auto& [name, value] : figures_of(sweep, row)) {
    if (value) json[name] = json_number(*value);
  }
  json["on_front"] = row.on_front;
  if (row.plan) {
    json["plan"] = plan_in_short(*row.plan);
    json["schedule"] = row.plan->schedule.name;
  }
  if (!row.why_not.empty() && !row.plan) json["why_not"] = row.why_not;
  return json;
}

}  // namespace

std::string sweep_text(const Sweep& sweep) {
  std::vector<std::string> head = {""};
  for (const std::size_t axis : varied_axes(sweep)) head.push_back(sweep.axes[axis].name);
  head.insert(head.end(), {"step", sweep.counts_tokens ? "tokens/s" : "samples/s", "MFU",
                           money_title(sweep), "PP/DP/TP/ZeRO"});
  Rows rows = {head};
  for (const SweepRow& row : sweep.rows) rows.push_back(text_row(sweep, row));
  std::string text = fmt::format("{} points, {} planned in {}\n", sweep.rows.size(),
                                 sweep.num_planned, format_seconds(sweep.seconds));
  text += align(rows);
  text += fmt::format("  * no other point takes less time for as little {}\n",
                      sweep.currency.empty() ? "time of devices" : "money");
  for (const std::string& answer : sweep_answers(sweep, most_answers)) {
    text += "  " + wrapped(answer, screen_columns() - 2, "    ") + "\n";
  }
  return text;
}

std::string sweep_csv(const Sweep& sweep) {
  std::vector<std::string> head;
  for (const SweepAxis& axis : sweep.axes)
    head.push_back(axis.kind == SweepAxis::Kind::setting ? axis.key : axis.name);
  for (const auto& [name, value] : figures_of(sweep, SweepRow())) head.push_back(name);
  head.insert(head.end(), {"currency", "on_front", "plan", "why_not"});
  std::string text = csv_line(head);
  for (const SweepRow& row : sweep.rows) {
    std::vector<std::string> cells = row.values;
    for (const auto& [name, value] : figures_of(sweep, row))
      cells.push_back(value ? fmt::format("{:.9g}", *value) : "");
    cells.insert(cells.end(),
                 {sweep.currency, row.on_front ? "1" : "0",
                  row.plan ? plan_in_short(*row.plan) : "", row.plan ? "" : row.why_not});
    text += csv_line(cells);
  }
  return text;
}

std::string sweep_json(const Sweep& sweep) {
  Json json = {{"schema", "pptrain.sweep/1"},
               {"planned", sweep.num_planned},
               {"seconds", json_number(sweep.seconds)}};
  if (!sweep.currency.empty()) json["currency"] = sweep.currency;
  json["axes"] = Json::array();
  for (const SweepAxis& axis : sweep.axes) json["axes"].push_back(axis_json(axis));
  json["points"] = Json::array();
  for (const SweepRow& row : sweep.rows) json["points"].push_back(point_json(sweep, row));
  json["answers"] = sweep_answers(sweep, sweep.rows.size());
  return format_json(json);
}

}  // namespace pptrain
