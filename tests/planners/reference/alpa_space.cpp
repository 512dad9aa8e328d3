#include "planners/reference/alpa_space.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "planners/reference/cost.hpp"
#include "planners/reference/divisions.hpp"
#include "planners/reference/stages.hpp"

namespace pptrain::reference {

namespace {

/// One division of a sub-mesh, and what layers cost under it.
struct Division {
  Stage stage;
  std::vector<std::vector<double>> seconds;  // [replica][layer]
};

struct SubMesh {
  int begin = 0;
  int end = 0;
  std::vector<Division> divisions;
};

/// One way to divide each layer of a stage.
struct Choice {
  double seconds = 0.0;
  double gradients = 0.0;
  int head = 0;
  int tail = 0;
  std::vector<double> model;   // bytes of each device
  std::vector<double> stored;  // bytes of each device and micro-batch in flight
};

class Enumeration {
 public:
  Enumeration(const RandomInstance& instance, const Restrictions& fixed, std::int64_t micro_batch)
      : instance_(instance), fixed_(fixed), micro_batch_(micro_batch) {
    micro_batches_ = static_cast<double>(instance.global_batch_size / micro_batch);
    for (int begin = 0; begin < instance.cluster.num_devices(); ++begin) {
      for (int end = begin + 1; end <= instance.cluster.num_devices(); ++end) {
        if (is_sub_mesh(begin, end)) meshes_.push_back({begin, end, divisions(begin, end)});
      }
    }
  }

  void visit_plans() {
    prepend(num_layers(), instance_.cluster.num_devices(), nullptr, nullptr, {});
  }
  double least() const { return least_; }
  double num_plans() const { return num_plans_; }

 private:
  struct Sums {
    int stages = 0;
    double sum = 0.0;
    double slowest = 0.0;
    double gradients = 0.0;
  };

  int num_layers() const { return instance_.profile.num_layers(); }
  int node(int device) const { return instance_.cluster.node_of(DeviceId(device)); }

  bool is_sub_mesh(int begin, int end) const {
    const bool starts_node = begin == 0 || node(begin - 1) != node(begin);
    const bool ends_node = end == instance_.cluster.num_devices() || node(end - 1) != node(end);
    if (starts_node && ends_node) return true;
    const int size = end - begin;
    return node(begin) == node(end - 1) && (size & (size - 1)) == 0;
  }

  std::vector<Division> divisions(int begin, int end) const {
    std::vector<Division> result;
    for (int degree = 1; degree <= end - begin; ++degree) {
      if ((end - begin) % degree != 0 || (end - begin) / degree > micro_batch_) continue;
      Division division;
      Stage& stage = division.stage;
      stage.layers = {{0, num_layers()}};
      stage.tensor_parallel = degree;
      stage.replicas = (end - begin) / degree;
      for (int d = begin; d < end; ++d) {
        if ((d - begin) % degree == 0) stage.devices.emplace_back();
        stage.devices.back().emplace_back(d);
      }
      stage.samples = by_count(micro_batch_, stage.replicas);
      if ((fixed_.data && *fixed_.data != stage.replicas) ||
          (fixed_.tensor && *fixed_.tensor != degree))
        continue;
      Plan plan;
      plan.stages = {stage};
      if (!costable(instance_.profile, instance_.cluster, plan)) continue;
      const Part part = parts_of(stage).front();
      for (int j = 0; j < stage.replicas; ++j) {
        division.seconds.emplace_back();
        for (int l = 0; l < num_layers(); ++l) {
          division.seconds.back().push_back(
              layer_seconds(instance_.profile, instance_.cluster, l, part, j).total());
        }
      }
      result.push_back(std::move(division));
    }
    return result;
  }

  double repartition(const SubMesh& mesh, int before, int after, int layer) const {
    Part from = parts_of(mesh.divisions[before].stage).front();
    Part to = parts_of(mesh.divisions[after].stage).front();
    from.layers = {0, layer};
    to.layers = {layer, num_layers()};
    return repartition_seconds(instance_.profile, instance_.cluster, from, to).total();
  }

  /// Layers [begin, end) under one division.
  void add_run(const SubMesh& mesh, int division, int begin, int end, Choice& choice) const {
    const Division& used = mesh.divisions[division];
    double slowest = 0.0;
    for (const std::vector<double>& replica : used.seconds) {
      double seconds = 0.0;
      for (int l = begin; l < end; ++l) seconds += replica[l];
      slowest = std::max(slowest, seconds);
    }
    choice.seconds += slowest;
    Stage stage = used.stage;
    stage.layers = {{begin, end}};
    choice.gradients += gradient_seconds(instance_.profile, instance_.cluster, stage);
    const BytesPerParameter& bytes = instance_.profile.bytes_per_parameter;
    for (int i = 0; i < mesh.end - mesh.begin; ++i) {
      for (int l = begin; l < end; ++l) {
        const ProfileLayer& layer = instance_.profile.layers[l];
        choice.model[i] += (bytes.weight + bytes.gradient + bytes.optimizer) * layer.parameters /
                           stage.tensor_parallel;
        choice.stored[i] += static_cast<double>(stage.samples[i / stage.tensor_parallel].size()) *
                            layer.stored_bytes;
      }
    }
  }

  Choice choice_of(const SubMesh& mesh, int begin, const std::vector<int>& divisions) const {
    Choice choice;
    choice.head = divisions.front();
    choice.tail = divisions.back();
    choice.model.assign(mesh.end - mesh.begin, 0.0);
    choice.stored = choice.model;
    const int end = begin + static_cast<int>(divisions.size());
    for (int run = begin; run < end;) {
      int next = run + 1;
      while (next < end && divisions[next - begin] == divisions[run - begin]) ++next;
      add_run(mesh, divisions[run - begin], run, next, choice);
      if (next < end)
        choice.seconds += repartition(mesh, divisions[run - begin], divisions[next - begin], next);
      run = next;
    }
    return choice;
  }

  const std::vector<Choice>& choices(int mesh_index, int begin, int end) {
    std::vector<Choice>& all = choices_[{mesh_index, begin, end}];
    if (!all.empty()) return all;
    const SubMesh& mesh = meshes_[mesh_index];
    std::vector<int> divisions(end - begin, 0);
    const auto num_divisions = static_cast<int>(mesh.divisions.size());
    for (bool more = num_divisions > 0; more;) {
      all.push_back(choice_of(mesh, begin, divisions));
      more = false;
      for (std::size_t i = 0; i < divisions.size() && !more; ++i) {
        more = ++divisions[i] < num_divisions;
        if (!more) divisions[i] = 0;
      }
    }
    return all;
  }

  double cut(const SubMesh& from, int tail, const SubMesh& to, int head, int layer) {
    const auto [known, is_new] =
        cuts_.try_emplace({from.begin, from.end, tail, to.end, head, layer}, 0.0);
    if (is_new) {
      Stage sender = from.divisions[tail].stage;
      Stage receiver = to.divisions[head].stage;
      sender.layers = {{0, layer}};
      receiver.layers = {{layer, num_layers()}};
      known->second = cut_seconds(instance_.profile, instance_.cluster, sender, receiver);
    }
    return known->second;
  }

  bool fits(const SubMesh& mesh, const Choice& choice, int stages_behind) const {
    const double in_flight =
        fixed_.schedule == "gpipe" ? micro_batches_ : std::min(stages_behind + 1.0, micro_batches_);
    for (int d = mesh.begin; d < mesh.end; ++d) {
      const double need = choice.model[d - mesh.begin] + in_flight * choice.stored[d - mesh.begin];
      if (need > instance_.cluster.kind_of(DeviceId(d)).memory) return false;
    }
    return true;
  }

  /// Every stage that ends with layer `end` - 1 and device `place` - 1, before the stages of
  /// `after`.
  void prepend(int end, int place, const SubMesh* next, const Choice* first, const Sums& after) {
    for (std::size_t m = 0; m < meshes_.size(); ++m) {
      const SubMesh& mesh = meshes_[m];
      if (mesh.end != place) continue;
      for (int begin = mesh.begin == 0 ? 0 : end - 1;
           begin >= 0 && (mesh.begin == 0 ? begin == 0 : begin > 0); --begin) {
        for (const Choice& choice : choices(static_cast<int>(m), begin, end)) {
          Sums sums = after;
          ++sums.stages;
          sums.sum += choice.seconds +
                      (next == nullptr ? 0.0 : cut(mesh, choice.tail, *next, first->head, end));
          sums.slowest = std::max(sums.slowest, choice.seconds);
          sums.gradients = std::max(sums.gradients, choice.gradients);
          if (begin == 0) ++num_plans_;
          if (!fits(mesh, choice, after.stages)) continue;
          if (begin > 0) {
            prepend(begin, mesh.begin, &mesh, &choice, sums);
          } else if (!fixed_.pipeline || *fixed_.pipeline == sums.stages) {
            least_ =
                std::min(least_, (micro_batches_ - 1.0) * sums.slowest + sums.sum + sums.gradients);
          }
        }
      }
    }
  }

  const RandomInstance& instance_;
  const Restrictions& fixed_;
  std::int64_t micro_batch_;
  double micro_batches_;
  std::vector<SubMesh> meshes_;
  std::map<std::tuple<int, int, int>, std::vector<Choice>> choices_;
  std::map<std::tuple<int, int, int, int, int, int>, double> cuts_;
  double least_ = std::numeric_limits<double>::infinity();
  double num_plans_ = 0.0;
};

}  // namespace

AlpaOptimum alpa_optimum(const RandomInstance& instance, const Restrictions& restrictions) {
  AlpaOptimum optimum;
  double least = std::numeric_limits<double>::infinity();
  for (const int micro_batch : divisors(instance.global_batch_size)) {
    if (restrictions.micro_batch_size && *restrictions.micro_batch_size != micro_batch) continue;
    Enumeration plans(instance, restrictions, micro_batch);
    plans.visit_plans();
    least = std::min(least, plans.least());
    optimum.num_plans += plans.num_plans();
  }
  if (least < std::numeric_limits<double>::infinity()) optimum.seconds = least;
  return optimum;
}

}  // namespace pptrain::reference
