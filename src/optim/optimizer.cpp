#include "optim/optimizer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "optim/offloaded_state.hpp"
#include "optim/optimizer_steps.hpp"

namespace pptrain {
namespace {

/// The state of a run starts on a cache line.
std::size_t aligned(std::size_t n) { return (n + 15) / 16 * 16; }

const ParameterSpec& spec_of(const ParameterRun& run) {
  static const ParameterSpec vector;
  return run.parameter != nullptr ? run.parameter->spec : vector;
}

/// Values of a state of a run.
std::size_t state_size(const ParameterRun& run, StateExtent extent) {
  if (extent == StateExtent::elements) return run.size;
  return extent == StateExtent::rows ? run.parameter->rows : run.parameter->columns;
}

/// Memory of what is kept: an array for each quantity, in which run follows run.
class OptimizerState {
 public:
  OptimizerState(const std::vector<ParameterRun>& runs, const std::vector<UpdateRule>& rules,
                 Arena& arena)
      : device_(arena.device()) {
    std::vector<std::size_t> sizes;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const std::vector<StateSpec>& states = rules[r].states;
      sizes.resize(std::max(sizes.size(), states.size()), 0);
      offsets_.emplace_back();
      for (std::size_t k = 0; k < states.size(); ++k) {
        offsets_.back().push_back(sizes[k]);
        sizes[k] += aligned(state_size(runs[r], states[k].extent));
      }
    }
    for (const std::size_t size : sizes) {
      arrays_.emplace_back(arena, 1, size);
      device_.fill(arrays_.back().f32(), 0, arrays_.back().bytes());
    }
  }

  Device& device() const { return device_; }
  std::size_t num_arrays() const { return arrays_.size(); }
  /// Values of the first array; of offloaded state all arrays are equally long.
  std::size_t size() const { return arrays_.empty() ? 0 : arrays_.front().size(); }
  float* array(std::size_t quantity) const { return arrays_[quantity].f32(); }
  std::size_t offset(std::size_t run, std::size_t quantity) const {
    return offsets_[run][quantity];
  }
  /// Null where the run has no such quantity.
  float* of(std::size_t run, std::size_t quantity) const {
    return quantity < offsets_[run].size() ? array(quantity) + offset(run, quantity) : nullptr;
  }

 private:
  Device& device_;
  std::vector<Tensor> arrays_;
  std::vector<std::vector<std::size_t>> offsets_;  // by run, of each quantity
};

/// Updates every run by the rule of its parameter.
class RuleOptimizer final : public Optimizer {
 public:
  RuleOptimizer(const OptimizerConfig& config, const std::vector<ParameterRun>& runs, Arena& arena,
                const Backend& backend, StatePlace place, std::vector<UpdateGroups> groups)
      : config_(config),
        kernels_(backend.kernels),
        device_(arena.device()),
        rules_(rules_of(config, runs)),
        host_(0, {}, device_.host_memory()),
        state_(runs, rules_, place == StatePlace::host ? host_ : arena),
        groups_(std::move(groups)) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const ParameterRun& run = runs[r];
      const float weight_decay = run.decays ? static_cast<float>(config_.decay()) : 0.0F;
      runs_.push_back({run.weights, run.gradients, state_.of(r, 0), state_.of(r, 1), run.copies,
                       run.size, weight_decay});
    }
    if (std::any_of(rules_.begin(), rules_.end(), is_whole_update) || needs_all(groups_)) {
      divide(runs, {config_, backend, arena});
    } else if (place == StatePlace::host && state_.num_arrays() > 0) {
      offload(arena);
    }
  }
  ~RuleOptimizer() override {
    // Pinned memory that copies under way write must not be given back.
    try {
      if (offloaded_) device_.synchronize();
    } catch (const Error&) {
      // The device has failed, which ends the job elsewhere.
    }
  }
  RuleOptimizer(const RuleOptimizer&) = delete;
  RuleOptimizer& operator=(const RuleOptimizer&) = delete;

  using Optimizer::step;
  void step(const StepValues& values, const std::function<void(std::size_t)>& updated) override {
    if (offloaded_) {
      return offloaded_->step(steps_of(rules_.front().method).by_element(config_, values, kernels_),
                              updated);
    }
    if (segments_.empty()) return update_elements(0, runs_.size(), values, updated);
    for (const Segment& segment : segments_) step_segment(segment, values, updated);
  }

  std::vector<std::vector<RunState>> state() override {
    if (offloaded_) device_.synchronize();  // the host reads it without the device
    std::vector<std::vector<RunState>> of_runs;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      std::vector<RunState>& quantities = of_runs.emplace_back();
      for (std::size_t k = 0; k < rules_[r].states.size(); ++k) {
        quantities.push_back({rules_[r].states[k].extent, state_.of(r, k)});
      }
    }
    return of_runs;
  }
  Device& state_device() override { return state_.device(); }

 private:
  /// The runs of a unit.
  struct Segment {
    std::size_t part;
    std::size_t unit;
    std::size_t begin;
    std::size_t end;
  };

  static std::vector<UpdateRule> rules_of(const OptimizerConfig& config,
                                          const std::vector<ParameterRun>& runs) {
    std::vector<UpdateRule> rules;
    for (const ParameterRun& run : runs) rules.push_back(update_rule(config, spec_of(run)));
    return rules;
  }

  void offload(Arena& arena) {
    std::vector<std::size_t> offsets;
    std::vector<float*> arrays;
    for (std::size_t r = 0; r < runs_.size(); ++r) offsets.push_back(state_.offset(r, 0));
    for (std::size_t k = 0; k < state_.num_arrays(); ++k) arrays.push_back(state_.array(k));
    offloaded_ = std::make_unique<OffloadedState>(runs_, offsets, state_.size(), arrays, arena);
  }

  /// Runs [begin, end), neighbours of one method in one go as far as the device does.
  void update_elements(std::size_t begin, std::size_t end, const StepValues& values,
                       const std::function<void(std::size_t)>& updated) {
    for (std::size_t r = begin; r < end;) {
      std::size_t alike = r + 1;
      while (alike < end && rules_[alike].method == rules_[r].method) ++alike;
      const ElementStep step = steps_of(rules_[r].method).by_element(config_, values, kernels_);
      while (r < alike) {
        const std::size_t last = r + step(&runs_[r], alike - r);
        for (; r < last; ++r) updated(r);
      }
    }
  }

  /// Whether this device takes part in updates of whole parameters, be it without a run of one.
  bool needs_all(const std::vector<UpdateGroups>& groups) const {
    return std::any_of(groups.begin(), groups.end(), [&](const UpdateGroups& of_part) {
      const std::vector<LocalParameter>& all = of_part.store->parameters();
      return std::any_of(all.begin(), all.end(), [&](const LocalParameter& p) {
        return is_whole_update(update_rule(config_, p.spec));
      });
    });
  }

  void divide(const std::vector<ParameterRun>& runs, const WholeContext& context) {
    PPTRAIN_ASSERT(device_.is_host() && state_.device().is_host(), "{} computes on the host",
                   config_.name());
    std::size_t r = 0;
    for (std::size_t part = 0; part < groups_.size(); ++part) {
      std::vector<WholeRun> whole;
      for (std::size_t unit = 0; unit < groups_[part].store->num_units(); ++unit) {
        const std::size_t begin = r;
        for (; r < runs.size() && runs[r].part == part && runs[r].parameter->unit == unit; ++r) {
          if (!is_whole_update(rules_[r])) continue;
          whole.push_back({r, runs[r], {}, runs_[r].weight_decay});
          for (std::size_t k = 0; k < rules_[r].states.size(); ++k)
            whole.back().state.push_back(state_.of(r, k));
        }
        segments_.push_back({part, unit, begin, r});
      }
      whole_.push_back(steps_of(config_.kind).whole(context, groups_[part], std::move(whole)));
    }
    PPTRAIN_ASSERT(r == runs.size(), "{} of {} runs are in no part", runs.size() - r, runs.size());
  }

  void step_segment(const Segment& segment, const StepValues& values,
                    const std::function<void(std::size_t)>& updated) {
    WholeUpdate& whole = *whole_[segment.part];
    if (segment.unit == 0) whole.begin_part(values);
    whole.begin_unit(values, segment.unit);
    for (std::size_t r = segment.begin; r < segment.end;) {
      if (is_whole_update(rules_[r])) {
        whole.update(r);
        updated(r++);
        continue;
      }
      std::size_t end = r;
      while (end < segment.end && !is_whole_update(rules_[end])) ++end;
      update_elements(r, end, values, updated);
      r = end;
    }
    whole.end_unit();
  }

  OptimizerConfig config_;
  Kernels& kernels_;
  Device& device_;
  std::vector<UpdateRule> rules_;  // by run
  Arena host_;                     // of offloaded state
  OptimizerState state_;
  std::vector<UpdateRun> runs_;  // of offloaded state, where it lies
  std::unique_ptr<OffloadedState> offloaded_;
  std::vector<UpdateGroups> groups_;                 // by part
  std::vector<std::unique_ptr<WholeUpdate>> whole_;  // by part; empty where elements are updated
                                                     // by themselves
  std::vector<Segment> segments_;                    // by part
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config,
                                          std::vector<ParameterRun> runs, Arena& arena,
                                          const Backend& backend, StatePlace place,
                                          std::vector<UpdateGroups> groups) {
  return std::make_unique<RuleOptimizer>(config, runs, arena, backend, place, std::move(groups));
}

double clip_factor(double norm, double clip) {
  if (clip <= 0.0) return 1.0;
  return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace pptrain
