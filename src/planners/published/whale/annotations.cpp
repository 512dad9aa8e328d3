#include "planners/published/whale/annotations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/names.hpp"
#include "planners/meshes/grid.hpp"

namespace pptrain {
namespace {

class AnnotationReader {
 public:
  AnnotationReader(const Instance& instance, const Restrictions& restrictions,
                   const std::string& source)
      : instance_(instance), fixed_(restrictions), source_(source) {}

  AnnotatedModel read() {
    for (std::size_t i = 0; i < fixed_.annotations.size(); ++i) {
      check_layers(i);
      check_devices(i);
      const Annotation& annotation = fixed_.annotations[i];
      model_.parts.push_back(
          {annotation.layers, annotation.primitive, static_cast<int>(annotation.devices)});
    }
    place();
    for (std::size_t i = 0; i < model_.parts.size(); ++i) check_degree(i);
    find_begins();
    check_fixed();
    return std::move(model_);
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const {
    throw_bad_input({fixed_.place_of(key, source_), problem, reason, suggestion});
  }

  static std::string key(std::size_t i) { return fmt::format("annotate[{}]", i); }
  static std::string text(Interval layers) {
    return fmt::format("[{}, {}]", layers.begin, layers.end);
  }
  int num_layers() const { return instance_.profile.num_layers(); }
  int num_devices() const { return instance_.cluster.num_devices(); }

  void check_layers(std::size_t i) const {
    const Interval layers = fixed_.annotations[i].layers;
    if (layers.begin < 0 || layers.empty() || layers.end > num_layers()) {
      refuse(key(i), fmt::format("layers = {} are not layers of the model", text(layers)),
             fmt::format("it has {} layers, numbered from 0", num_layers()),
             "give the first layer and the one behind the last");
    }
    if (i == 0) return;
    const Interval before = fixed_.annotations[i - 1].layers;
    if (!intersect(before, layers).empty()) {
      refuse(
          key(i),
          fmt::format("layers = {} overlap {} of the annotation above", text(layers), text(before)),
          "a layer belongs to one TaskGraph", fmt::format("begin with layer {}", before.end));
    }
    if (layers.begin < before.begin) {
      refuse(key(i),
             fmt::format("layers = {} come before {} of the annotation above", text(layers),
                         text(before)),
             "TaskGraphs follow one another as the layers do",
             "list the annotations in layer order");
    }
  }

  void check_devices(std::size_t i) const {
    const std::int64_t devices = fixed_.annotations[i].devices;
    if (devices < 1)
      refuse(key(i), fmt::format("devices = {}", devices), "it must be at least 1", "use 1");
    if (devices <= num_devices()) return;
    refuse(key(i), fmt::format("devices = {} are more than there are", devices),
           fmt::format("the cluster has {}", num_devices()),
           fmt::format("use at most {}", num_devices()));
  }

  void place() {
    int sum = 0;
    for (const AnnotatedPart& part : model_.parts) sum += part.devices;
    const bool one_stage = fixed_.pipeline && *fixed_.pipeline == 1;
    if (sum > num_devices() || (one_stage && model_.parts.size() > 1)) {
      check_shareable();
      model_.placement = PartPlacement::shared;
      sum = model_.parts.front().devices;
      check_equal_devices();
    }
    if (num_devices() % sum != 0) {
      refuse(key(0), fmt::format("the annotations ask for {} devices", sum),
             fmt::format("the cluster has {}, which is no multiple: the pipeline cannot be "
                         "replicated on the rest",
                         num_devices()),
             fmt::format("let them add up to a divisor of {}", num_devices()));
    }
    model_.pipelines = num_devices() / sum;
  }

  void check_shareable() const {
    const bool alike = std::all_of(
        model_.parts.begin(), model_.parts.end(),
        [&](const AnnotatedPart& part) { return part.primitive == model_.parts[0].primitive; });
    if (fixed_.blocks || alike) return;
    refuse(key(0), "the annotated parts share their devices and are divided differently",
           "here the layers of a stage are divided in one way",
           "let their devices add up to those of the cluster");
  }

  void check_equal_devices() const {
    for (std::size_t i = 1; i < model_.parts.size(); ++i) {
      if (model_.parts[i].devices == model_.parts[0].devices) continue;
      refuse(
          key(i),
          fmt::format("devices = {} beside {}", model_.parts[i].devices, model_.parts[0].devices),
          fmt::format("parts that share the {} devices have to use the same number of them",
                      num_devices()),
          "use the same number, or fewer devices in all for a pipeline");
    }
  }

  int degree(const AnnotatedPart& part) const {
    return part.primitive == Primitive::split ? part.devices : 1;
  }
  int replicas(const AnnotatedPart& part) const {
    return part.devices / degree(part) * model_.pipelines;
  }

  bool has_rows(int layer, int n) const {
    const auto& groups = instance_.cluster.groups;
    return std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
      return instance_.profile.has_degree(layer, group.device_kind, n);
    });
  }

  void check_degree(std::size_t i) const {
    const AnnotatedPart& part = model_.parts[i];
    for (std::int64_t l = part.layers.begin; l < part.layers.end; ++l) {
      const int layer = static_cast<int>(l);
      if (has_rows(layer, degree(part))) continue;
      std::vector<std::string> known;
      for (const std::int64_t n : divisors(num_devices())) {
        if (has_rows(layer, static_cast<int>(n))) known.push_back(fmt::format("{}", n));
      }
      refuse(key(i), fmt::format("split over {} devices cannot be used", part.devices),
             fmt::format(
                 "the profile has no rows of layer \"{}\" at that degree on every kind of device",
                 instance_.profile.layers[layer].name),
             "degrees that it has: " + join(known));
    }
  }

  /// The layers between two parts go to either; only as far as they have rows at its degree.
  void find_begins() {
    std::vector<AnnotatedPart>& parts = model_.parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int from = i == 0 ? 0 : static_cast<int>(parts[i - 1].layers.end);
      const int to = static_cast<int>(parts[i].layers.begin);
      int first = to;
      while (first > from && has_rows(first - 1, degree(parts[i]))) --first;
      int last = i == 0 ? 0 : from;
      while (i > 0 && last < to && has_rows(last, degree(parts[i - 1]))) ++last;
      if (first > last) refuse_gap(i, i == 0 ? first - 1 : last);
      parts[i].first_begin = first;
      parts[i].last_begin = last;
    }
    for (int l = static_cast<int>(parts.back().layers.end); l < num_layers(); ++l) {
      if (!has_rows(l, degree(parts.back()))) refuse_gap(parts.size() - 1, l);
    }
  }

  [[noreturn]] void refuse_gap(std::size_t i, int layer) const {
    refuse(key(i), fmt::format("layer {} cannot be added to a part beside it", layer),
           fmt::format("the profile has no rows of \"{}\" at the degree of the part",
                       instance_.profile.layers[layer].name),
           "annotate it too, with replicate");
  }

  void check_fixed() const {
    const bool shared = model_.placement == PartPlacement::shared;
    const std::int64_t stages = shared ? 1 : static_cast<std::int64_t>(model_.parts.size());
    if (fixed_.pipeline && *fixed_.pipeline != stages) {
      refuse("pipeline", fmt::format("pipeline = {} contradicts the annotations", *fixed_.pipeline),
             fmt::format("they make {} {}", stages, stages == 1 ? "stage" : "stages"),
             "use \"auto\", or other annotations");
    }
    for (const AnnotatedPart& part : model_.parts) {
      if (shared && part.primitive == Primitive::split) continue;  // a block, not the stage
      check_fixed("data", fixed_.data, replicas(part), part.layers);
      check_fixed("tensor", fixed_.tensor, degree(part), part.layers);
    }
  }

  void check_fixed(const std::string& degree_key, const AutoInt& value, int asked,
                   Interval layers) const {
    if (!value || *value == asked) return;
    refuse(degree_key, fmt::format("{} = {} contradicts the annotations", degree_key, *value),
           fmt::format("layers {} have {} there", text(layers), asked),
           "use \"auto\", or other annotations");
  }

  const Instance& instance_;
  const Restrictions& fixed_;
  const std::string& source_;
  AnnotatedModel model_;
};

}  // namespace

TaskGraphs AnnotatedModel::task_graphs() const {
  TaskGraphs result;
  result.pipelines = pipelines;
  const std::size_t graphs = placement == PartPlacement::shared ? 1 : parts.size();
  for (std::size_t i = 0; i < graphs; ++i) {
    TaskGraph graph;
    graph.devices = parts[i].devices;
    if (parts[i].primitive == Primitive::split) {
      graph.tensor_parallel = parts[i].devices;
      graph.sharding = Sharding::patterns;
    }
    if (i + 1 < graphs) {
      graph.first_end = parts[i + 1].first_begin;
      graph.last_end = parts[i + 1].last_begin;
    }
    result.graphs.push_back(graph);
  }
  return result;
}

AnnotatedModel annotated_model(const Instance& instance, const Restrictions& restrictions,
                               const std::string& source) {
  return AnnotationReader(instance, restrictions, source).read();
}

}  // namespace pptrain
