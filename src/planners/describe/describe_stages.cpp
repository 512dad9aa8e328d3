#include "planners/describe/describe_stages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/text_table.hpp"
#include "base/units.hpp"
#include "plan/used_devices.hpp"
#include "planners/describe/describe_summary.hpp"

namespace pptrain {
namespace {

/// How many devices of each kind the stage has.
std::vector<int> kind_counts(const Stage& stage, const Cluster& cluster) {
  std::vector<int> counts(cluster.device_kinds.size(), 0);
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) ++counts[cluster.kind_index_of(device)];
  }
  return counts;
}

/// " (4 v100, 4 t4)" of the devices of some stages alike; "" in a cluster of one kind.
std::string kinds_text(const std::vector<int>& counts, const Cluster& cluster, int stages) {
  if (counts.size() < 2) return "";
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0)
      parts.push_back(fmt::format("{} {}", counts[k] * stages, cluster.device_kinds[k].name));
  }
  return " (" + join(parts) + ")";
}

std::string samples_text(const Stage& stage) {
  const auto [least, most] =
      std::minmax_element(stage.samples.begin(), stage.samples.end(),
                          [](Interval a, Interval b) { return a.size() < b.size(); });
  if (least->size() == most->size()) return fmt::format("{}", least->size());
  return fmt::format("{} to {}", least->size(), most->size());
}

/// Where in the chain of layers these are.
std::string layers_picture(const std::vector<Interval>& layers, std::int64_t num_layers) {
  constexpr std::int64_t widest = 32;
  const std::int64_t width = std::min(num_layers, widest);
  std::string picture(width, '.');
  for (const Interval& part : layers) {
    const std::int64_t begin = part.begin * width / num_layers;
    const std::int64_t end = std::max(begin + 1, part.end * width / num_layers);
    for (std::int64_t c = begin; c < std::min(end, width); ++c) picture[c] = '#';
  }
  return picture;
}

/// Need and memory of the fullest device of a stage.
struct Fullest {
  double need = 0.0;
  double memory = 0.0;
  double part() const { return memory > 0.0 ? need / memory : 0.0; }
};

Fullest fullest_of(const Stage& stage, const Prediction& prediction, const Cluster& cluster) {
  Fullest fullest;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      if (device.index() >= prediction.peak_bytes.size()) continue;
      const Fullest mine = {prediction.peak_bytes[device.index()], cluster.kind_of(device).memory};
      if (fullest.memory == 0.0 || mine.part() > fullest.part()) fullest = mine;
    }
  }
  return fullest;
}

std::string layers_text(const std::vector<Interval>& layers) {
  std::vector<std::string> parts;
  for (const Interval& part : layers) {
    parts.push_back(part.size() == 1 ? fmt::format("{}", part.begin)
                                     : fmt::format("{}-{}", part.begin, part.end - 1));
  }
  return join(parts);
}

/// What members have of the layers, where it is not an even share of each tensor.
std::string shares_text(const std::map<std::string, std::vector<Interval>>& shards) {
  std::string text;
  const auto experts = shards.find("experts");
  if (shards.size() > (experts == shards.end() ? 0 : 1)) text += ", uneven shards";
  if (experts == shards.end()) return text;
  std::vector<std::string> numbers;
  for (const Interval& part : experts->second) numbers.push_back(fmt::format("{}", part.size()));
  const bool alike = std::all_of(numbers.begin(), numbers.end(),
                                 [&](const auto& n) { return n == numbers.front(); });
  return text + (alike ? fmt::format(", {} whole experts each (EP)", numbers.front())
                       : ", whole experts " + join(numbers) + " (EP)");
}

/// Blocks that are divided alike together: "layers 2, 4, ..., 48 all-to-all 1 x 8".
std::string blocks_text(const std::vector<Block>& blocks) {
  const auto alike = [](const Block& a, const Block& b) {
    return a.pattern == b.pattern && a.replicas == b.replicas &&
           a.tensor_parallel == b.tensor_parallel && a.shards == b.shards;
  };
  std::string text;
  for (auto first = blocks.begin(); first != blocks.end();) {
    const auto end = std::find_if(first, blocks.end(),
                                  [&](const Block& other) { return !alike(*first, other); });
    constexpr std::ptrdiff_t most = 3;
    std::vector<std::string> layers;
    for (auto block = first; block != end; ++block) {
      const bool is_named = end - first <= most || block - first < most - 1 || block + 1 == end;
      if (is_named) {
        layers.push_back(layers_text({block->layers}));
      } else if (block - first == most - 1) {
        layers.emplace_back("...");
      }
    }
    text += fmt::format(", layers {} {} {} x {}{}", join(layers),
                        pattern_names().name_of(first->pattern), first->replicas,
                        first->tensor_parallel, shares_text(first->shards));
    first = end;
  }
  return text;
}

/// "0.03 to 0.12": the smallest and the largest slice of what ZeRO divides.
std::string slices_text(const Stage& stage) {
  double least = 1.0, most = 0.0;
  for (int j = 0; j < stage.replicas; ++j) {
    least = std::min(least, 1.0 / stage.slices_of(j));
    most = std::max(most, 1.0 / stage.slices_of(j));
  }
  return fmt::format("{:.2g} to {:.2g}", least, most);
}

/// "ZeRO 3 (FSDP)": the stage of ZeRO, with the field's word where there is one.
std::string zero_text(const Stage& stage) {
  if (stage.zero_stage == 0) return "";
  std::string text = fmt::format(", ZeRO {}", stage.zero_stage);
  const bool in_groups = !stage.zero_groups.empty();
  if (in_groups) text += fmt::format(" in {} groups of replicas", stage.zero_groups.size());
  if (!stage.zero_slices.empty()) text += " in slices of " + slices_text(stage);
  if (stage.zero_stage < 3) return text;
  return text + (in_groups ? " (HSDP)" : " (FSDP)");
}

/// What a stage does beside holding its layers: recomputation, ZeRO, offload, blocks, uneven
/// shards.
std::string choices_text(const Stage& stage) {
  std::string text;
  if (stage.recompute != Recompute::none)
    text += fmt::format(", recompute {}", to_string(stage.recompute));
  text += zero_text(stage);
  if (stage.offload) text += ", optimizer offloaded";
  if (stage.offload_activations) text += ", activations offloaded";
  text += shares_text(stage.shards);
  return text + blocks_text(stage.blocks);
}

std::int64_t num_layers_of(const std::vector<Interval>& layers) {
  std::int64_t layers_in_all = 0;
  for (const Interval& part : layers) layers_in_all += part.size();
  return layers_in_all;
}

/// A quantity without its unit where the one that stands behind it has the same.
std::string without_unit_of(const std::string& behind, const std::string& quantity) {
  const std::string unit = behind.substr(behind.find(' '));
  return quantity.ends_with(unit) ? quantity.substr(0, quantity.size() - unit.size()) : quantity;
}

/// Stages that follow one another and differ in nothing but their layers, devices and memory.
struct StageRow {
  int first = 0;
  int last = 0;
  std::vector<Interval> layers;  ///< of all, sorted, those that touch joined
  std::vector<int> devices;
  Fullest emptiest;
  Fullest fullest;
  [[nodiscard]] int stages() const { return last - first + 1; }
};

/// Sorted intervals of which no two touch.
std::vector<Interval> joined(std::vector<Interval> parts) {
  std::sort(parts.begin(), parts.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  for (const Interval& part : parts) {
    if (!result.empty() && result.back().end == part.begin) {
      result.back().end = part.end;
    } else {
      result.push_back(part);
    }
  }
  return result;
}

class StageTable {
 public:
  StageTable(const Plan& plan, const Cluster& cluster, StageDetail detail)
      : plan_(plan), cluster_(cluster), brief_(detail == StageDetail::brief) {
    for (const Stage& stage : plan.stages) {
      for (const Interval& chunk : stage.layers) num_layers_ = std::max(num_layers_, chunk.end);
      if (choices_text(stage) != choices_text(plan.stages.front())) one_choice_ = false;
      if (samples_text(stage) != samples_text(plan.stages.front())) one_number_of_samples_ = false;
    }
    for (int i = 0; i < plan.num_stages(); ++i) add(i);
  }

  [[nodiscard]] std::string text(std::size_t most_rows) const {
    const std::size_t shown =
        rows_.size() <= most_rows ? rows_.size() : std::max<std::size_t>(2, most_rows) - 1;
    Rows rows = {heading()};
    // The last stage is as different as the first: it is shown, and those before it are left out.
    for (std::size_t r = 0; r < shown; ++r) {
      const bool is_last = r + 1 == shown;
      rows.push_back(cells_of(is_last ? rows_.back() : rows_[r]));
      if (is_last && shown < rows_.size())
        rows.insert(rows.end() - 1, left_out(rows_[r], rows_[rows_.size() - 2]));
    }
    return align(std::move(rows), may_go());
  }

 private:
  /// Joins stage `i` to the row before where it is alike.
  void add(int i) {
    const Stage& stage = plan_.stages[i];
    StageRow row = {i, i, {}, {}, {}, {}};
    if (brief_ && !rows_.empty() &&
        alike(plan_.stages[rows_.back().first], rows_.back().first, i)) {
      row = rows_.back();
      row.last = i;
      rows_.pop_back();
    }
    row.layers.insert(row.layers.end(), stage.layers.begin(), stage.layers.end());
    if (brief_) row.layers = joined(row.layers);
    for (const auto& replica : stage.devices) {
      for (const DeviceId device : replica) row.devices.push_back(device.value);
    }
    if (plan_.predicted) {
      const Fullest fullest = fullest_of(stage, *plan_.predicted, cluster_);
      if (row.first == i || fullest.part() > row.fullest.part()) row.fullest = fullest;
      if (row.first == i || fullest.part() < row.emptiest.part()) row.emptiest = fullest;
    }
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] std::string time_of(int i) const {
    return plan_.predicted
               ? format_seconds(plan_.predicted->stage_seconds[static_cast<std::size_t>(i)])
               : "";
  }

  [[nodiscard]] bool alike(const Stage& a, int index_a, int index_b) const {
    const Stage& b = plan_.stages[index_b];
    return a.replicas == b.replicas && a.tensor_parallel == b.tensor_parallel &&
           num_layers_of(a.layers) == num_layers_of(b.layers) &&
           samples_text(a) == samples_text(b) &&
           kind_counts(a, cluster_) == kind_counts(b, cluster_) &&
           choices_text(a) == choices_text(b) && time_of(index_a) == time_of(index_b);
  }

  [[nodiscard]] bool has_shapes() const { return !brief_ || !plan_.uniform(); }
  [[nodiscard]] bool has_samples() const { return !brief_ || !one_number_of_samples_; }

  [[nodiscard]] std::vector<std::string> heading() const {
    std::vector<std::string> row = {"stage", "layers"};
    if (!brief_) row.emplace_back("");
    if (has_shapes()) row.emplace_back("DP x TP");
    if (has_samples()) row.emplace_back("samples");
    if (plan_.predicted) row.insert(row.end(), {"F + B", "memory"});
    row.emplace_back("devices");
    return row;
  }

  /// The picture of the layers, and bars, where the screen has no room for them.
  [[nodiscard]] std::vector<std::size_t> may_go() const {
    return brief_ ? std::vector<std::size_t>() : std::vector<std::size_t>{2};
  }

  [[nodiscard]] std::string stages_of(const StageRow& row) const {
    return row.stages() == 1 ? fmt::format("{}", row.first)
                             : fmt::format("{}-{}", row.first, row.last);
  }

  [[nodiscard]] std::string memory_of(const StageRow& row) const {
    const std::string whole = format_bytes(row.fullest.memory);
    const std::string most = format_bytes(row.fullest.need);
    const std::string least = format_bytes(row.emptiest.need);
    const std::string need = least == most ? most : without_unit_of(most, least) + " to " + most;
    return fmt::format("{} of {}", without_unit_of(whole, need), whole);
  }

  [[nodiscard]] std::vector<std::string> cells_of(const StageRow& row) const {
    const Stage& stage = plan_.stages[row.first];
    const std::int64_t layers = num_layers_of(stage.layers);
    std::vector<std::string> cells = {stages_of(row), layers_text(row.layers)};
    if (row.stages() > 1) cells.back() += fmt::format(" ({} each)", layers);
    if (!brief_) cells.push_back(layers_picture(row.layers, num_layers_));
    if (has_shapes())
      cells.push_back(
          fmt::format("{} x {}", stage.replicas / plan_.context, stage.tensor_parallel));
    if (has_samples()) cells.push_back(samples_text(stage));
    if (plan_.predicted) {
      cells.push_back(time_of(row.first));
      cells.push_back(memory_of(row));
    }
    cells.push_back(ranges(row.devices) +
                    kinds_text(kind_counts(stage, cluster_), cluster_, row.stages()));
    if (!brief_ || !one_choice_) cells.back() += choices_text(stage);
    return cells;
  }

  /// The row for those between.
  [[nodiscard]] std::vector<std::string> left_out(const StageRow& first,
                                                  const StageRow& last) const {
    return {"...", fmt::format("stages {}-{}: see -v", first.first, last.last)};
  }

  const Plan& plan_;
  const Cluster& cluster_;
  bool brief_;
  bool one_choice_ = true;             ///< ZeRO, recomputation and such are equal in all stages
  bool one_number_of_samples_ = true;  ///< of a replica
  std::int64_t num_layers_ = 0;
  std::vector<StageRow> rows_;
};

}  // namespace

std::string common_choices_text(const Plan& plan) {
  const std::string text = choices_text(plan.stages.front());
  const bool is_common =
      std::all_of(plan.stages.begin(), plan.stages.end(),
                  [&](const Stage& stage) { return choices_text(stage) == text; });
  return is_common ? text : "";
}

std::string stages_text(const Plan& plan, const Cluster& cluster, StageDetail detail,
                        std::size_t most_rows) {
  return StageTable(plan, cluster, detail).text(most_rows);
}

std::string unused_text(const Plan& plan, const Cluster& cluster) {
  const std::vector<bool> used = used_devices(plan, cluster.num_devices());
  std::vector<int> unused;
  for (int d = 0; d < cluster.num_devices(); ++d) {
    if (!used[d]) unused.push_back(d);
  }
  if (unused.empty()) return "";
  const std::string devices = (unused.size() == 1 ? "device " : "devices ") + ranges(unused);
  const std::string text =
      devices + (is_fastest(plan)
                     ? " left out: the iteration is no faster with more"
                     : " left out: no plan that was found " + better_text(plan) + " with more");
  return "  " + wrapped(text, screen_columns() - 2, "  ") + "\n";
}

}  // namespace pptrain
