#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "optim/optimizer_steps.hpp"

namespace pptrain {
namespace {

constexpr int iterations = 5;
constexpr float linear = 3.4445F, cubic = -4.775F, quintic = 2.0315F;
constexpr double least_norm = 1e-7;

/// X of a matrix (rows, columns): its singular values brought near 1 by five Newton-Schulz
/// iterations in fp32, from products of the smaller of its sides.
void orthogonalise(const Matrix& x, Gemm& gemm, Kernels& kernels, Arena& arena) {
  double squares = 0.0;
  kernels.sum_of_squares(x.f32(), x.rows * x.columns, &squares);
  kernels.scale(x.f32(), static_cast<float>(1.0 / std::max(std::sqrt(squares), least_norm)),
                x.rows * x.columns);
  const bool is_wide = x.rows <= x.columns;
  const std::size_t side = std::min(x.rows, x.columns);
  const Tensor gram(arena, side, side), polynomial(arena, side, side),
      product(arena, x.rows, x.columns);
  for (int i = 0; i < iterations; ++i) {
    gemm.multiply(is_wide ? Transpose::no : Transpose::yes, x,
                  is_wide ? Transpose::yes : Transpose::no, x, gram);
    gemm.multiply(Transpose::no, gram, Transpose::no, gram, polynomial);
    for (std::size_t e = 0; e < side * side; ++e) {
      polynomial.f32()[e] = cubic * gram.f32()[e] + quintic * polynomial.f32()[e];
    }
    const Matrix left = is_wide ? polynomial.matrix() : x,
                 right = is_wide ? x : polynomial.matrix();
    gemm.multiply(Transpose::no, left, Transpose::no, right, product);
    for (std::size_t e = 0; e < x.rows * x.columns; ++e) {
      x.f32()[e] = linear * x.f32()[e] + product.f32()[e];
    }
  }
}

/// Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024), as
/// PyTorch writes it, with the iteration in fp32. The matrices of a unit are gathered where they
/// are divided; each is then the work of one of the devices that hold parts of it, which sends the
/// others the result.
class Muon final : public WholeUpdate {
 public:
  Muon(const WholeContext& context, const UpdateGroups& groups, std::vector<WholeRun> runs)
      : context_(context), groups_(groups), runs_(std::move(runs)) {
    for (std::size_t r = 0; r < runs_.size(); ++r) run_of_[runs_[r].number] = r;
    divide_work();
  }

  void begin_unit(const StepValues& values, std::size_t unit) override {
    std::vector<Work>& work = work_of_[unit];
    if (work.empty()) return;
    rate_ =
        context_.config.muon_learning_rate * values.learning_rate / context_.config.learning_rate;
    const Tensor momenta = gathered_momenta(static_cast<float>(values.gradient_scale), unit);
    std::size_t size = 0;
    for (Work& w : work) {
      w.place = size;
      size += static_cast<std::size_t>(parameter(w).spec.size());
    }
    results_ = Tensor(context_.arena, 1, size);
    for (const Work& w : work) {
      const Matrix whole = matrix_of(w);
      gather_members(w, momenta.f32() + parameter(w).offset - unit_begin(unit), whole.f32());
      if (w.owner == place_in(groups_.owners) && w.member == place_in(groups_.members)) {
        orthogonalise(whole, context_.backend.gemm, context_.backend.kernels, context_.arena);
      }
    }
    share_results(work);
  }

  void update(std::size_t number) override {
    const WholeRun& own = runs_[run_of_.at(number)];
    const LocalParameter& p = own.parameter();
    const auto& work = work_of_[p.unit];
    const auto w =
        std::find_if(work.begin(), work.end(), [&](const Work& o) { return &parameter(o) == &p; });
    const Matrix whole = matrix_of(*w);
    const double sides =
        static_cast<double>(p.spec.shape[0]) / static_cast<double>(p.spec.shape[1]);
    const auto decay = static_cast<float>(1.0 - rate_ * own.weight_decay);
    const auto step = static_cast<float>(rate_ * std::sqrt(std::max(1.0, sides)));
    float* weights = own.run.weights;
    const Interval held = {own.run.begin, own.run.begin + static_cast<std::int64_t>(own.run.size)};
    std::int64_t local = 0;
    for (const Interval& elements : p.elements) {
      const Interval common = intersect({local, local + elements.size()}, held);
      for (std::int64_t e = common.begin; e < common.end; ++e) {
        float& weight = weights[e - held.begin];
        weight = weight * decay - step * whole.f32()[elements.begin + e - local];
      }
      local += elements.size();
    }
    if (own.run.copies.data != nullptr)
      context_.backend.kernels.convert({weights, 1, own.run.size}, own.run.copies);
  }

  void end_unit() override { results_.reset(); }

 private:
  /// A matrix of a unit: who computes it, and where the result lies among those of the unit.
  struct Work {
    std::size_t parameter;
    int owner = 0;
    int member = 0;
    std::size_t place = 0;
  };

  static int place_in(const Communicator* group) { return group != nullptr ? group->rank() : 0; }
  static int size_of_group(const Communicator* group) {
    return group != nullptr ? group->size() : 1;
  }
  const LocalParameter& parameter(const Work& work) const {
    return groups_.store->parameters()[work.parameter];
  }
  Matrix matrix_of(const Work& work) const {
    const std::vector<std::int64_t>& shape = parameter(work).spec.shape;
    return {results_.f32() + work.place, static_cast<std::size_t>(shape[0]),
            static_cast<std::size_t>(shape[1])};
  }
  std::size_t unit_begin(std::size_t unit) const {
    const std::vector<LocalParameter>& all = groups_.store->parameters();
    return std::find_if(all.begin(), all.end(),
                        [&](const LocalParameter& p) { return p.unit == unit; })
        ->offset;
  }

  /// The matrices of each unit go to the devices that share them, the largest first and each to who
  /// has least, and lie in the order of those devices.
  void divide_work() {
    const std::vector<LocalParameter>& all = groups_.store->parameters();
    work_of_.resize(groups_.store->num_units());
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (update_rule(context_.config, all[p].spec).method == OptimizerKind::muon)
        work_of_[all[p].unit].push_back({p});
    }
    const int members = size_of_group(groups_.members);
    for (std::vector<Work>& work : work_of_) {
      std::stable_sort(work.begin(), work.end(),
                       [&](const Work& a, const Work& b) { return cost(a) > cost(b); });
      std::vector<double> load(static_cast<std::size_t>(members * size_of_group(groups_.owners)),
                               0.0);
      for (Work& w : work) {
        const auto least = std::min_element(load.begin(), load.end());
        *least += cost(w);
        w.owner = static_cast<int>(least - load.begin()) / members;
        w.member = static_cast<int>(least - load.begin()) % members;
      }
      std::stable_sort(work.begin(), work.end(), [](const Work& a, const Work& b) {
        return std::pair(a.owner, a.member) < std::pair(b.owner, b.member);
      });
    }
  }
  double cost(const Work& work) const {
    const ParameterSpec& spec = parameter(work).spec;
    return update_rule(context_.config, spec).flop * static_cast<double>(spec.size());
  }

  /// Moves the momenta of this device's runs on. Returns what the steps of the unit's matrices are
  /// made of, as the unit lies in the store.
  Tensor gathered_momenta(float gradient_scale, std::size_t unit) {
    Tensor all(context_.arena, 1, groups_.store->unit_size(unit));
    context_.backend.kernels.fill_zero(all.f32(), all.size());
    const auto momentum = static_cast<float>(context_.config.muon_momentum);
    for (const WholeRun& own : runs_) {
      if (own.parameter().unit != unit) continue;
      float* to = all.f32() + own.parameter().offset - unit_begin(unit) + own.run.begin;
      float* m = own.state[0];
      for (std::size_t i = 0; i < own.run.size; ++i) {
        const float g = own.run.gradients[i] * gradient_scale;
        m[i] += (1.0F - momentum) * (g - m[i]);
        to[i] = g + momentum * (m[i] - g);
      }
    }
    if (groups_.owners != nullptr)
      groups_.owners->all_gather(all.f32(), groups_.store->slices(unit));
    return all;
  }

  /// The whole matrix of what the members hold.
  void gather_members(const Work& work, const float* local, float* whole) {
    const LocalParameter& p = parameter(work);
    if (p.spec.axis == ShardAxis::none) {
      std::copy_n(local, p.size(), whole);
      return;
    }
    const std::vector<Interval> parts = groups_.parts(p.spec.axis);
    std::vector<Interval> slices;
    std::vector<std::vector<Interval>> elements;
    for (const Interval& part : parts) {
      elements.push_back(p.spec.shard_elements(part, p.axis_size));
      const std::int64_t begin = slices.empty() ? 0 : slices.back().end;
      std::int64_t size = 0;
      for (const Interval& run : elements.back()) size += run.size();
      slices.push_back({begin, begin + size});
    }
    const Tensor all(context_.arena, 1, static_cast<std::size_t>(slices.back().end));
    context_.backend.kernels.fill_zero(all.f32(), all.size());  // where other members exist on
                                                                // paper alone
    std::copy_n(local, p.size(),
                all.f32() + slices[static_cast<std::size_t>(place_in(groups_.members))].begin);
    groups_.members->all_gather(all.f32(), slices);
    for (std::size_t m = 0; m < parts.size(); ++m) {
      const float* next = all.f32() + slices[m].begin;
      for (const Interval& run : elements[m]) {
        std::copy_n(next, run.size(), whole + run.begin);
        next += run.size();
      }
    }
  }

  /// Results from those who computed them: among the members of a replica, then among the owners of
  /// slices.
  void share_results(const std::vector<Work>& work) {
    const auto place = [](const Work& w) { return static_cast<std::int64_t>(w.place); };
    const auto begin_of = [&](int owner, int member) {
      for (const Work& w : work) {
        if (std::pair(w.owner, w.member) >= std::pair(owner, member)) return place(w);
      }
      return static_cast<std::int64_t>(results_.size());
    };
    const int owners = size_of_group(groups_.owners), members = size_of_group(groups_.members);
    std::vector<Interval> of_members, of_owners;
    for (int m = 0; m < members; ++m) {
      const int owner = place_in(groups_.owners);
      of_members.push_back({begin_of(owner, m), begin_of(owner, m + 1)});
    }
    for (int o = 0; o < owners; ++o) of_owners.push_back({begin_of(o, 0), begin_of(o + 1, 0)});
    groups_.members->all_gather(results_.f32(), of_members);
    if (groups_.owners != nullptr) groups_.owners->all_gather(results_.f32(), of_owners);
  }

  WholeContext context_;
  const UpdateGroups& groups_;
  std::vector<WholeRun> runs_;
  std::map<std::size_t, std::size_t> run_of_;  // by number
  std::vector<std::vector<Work>> work_of_;     // by unit
  Tensor results_;                             // of a unit
  double rate_ = 0.0;
};

}  // namespace

OptimizerSteps optimizer_steps::muon() {
  const auto make = [](const WholeContext& context, const UpdateGroups& groups,
                       std::vector<WholeRun> runs) {
    return std::unique_ptr<WholeUpdate>(std::make_unique<Muon>(context, groups, std::move(runs)));
  };
  return {.whole = make};
}

}  // namespace pptrain
