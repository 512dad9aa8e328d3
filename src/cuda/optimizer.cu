#include <cmath>

#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/typed_rows.hpp"
#include "kernels/bodies/update_steps.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

constexpr unsigned elements_of_pack = 8, threads_of_update = 256;
constexpr std::size_t elements_of_block = std::size_t{8} * threads_of_update * elements_of_pack;

/// The runs of one launch. It travels with the launch, which may carry 4 KiB.
struct UpdateTable {
  static constexpr unsigned capacity = 32;

  struct Run {
    float* parameter;
    const float* gradient;
    float *first, *second;  // may be null
    void* copy;             // may be null
    std::size_t size;
    float decay;
    unsigned first_block;
    bool aligned;
  };

  Run runs[capacity];
  unsigned count = 0, num_blocks = 0;

  void add(const UpdateRun& run, float decay) {
    const bool aligned = is_aligned(run.parameter) && is_aligned(run.gradient) &&
                         is_aligned(run.first) && is_aligned(run.second) &&
                         is_aligned(run.copy.data);
    runs[count++] = {run.parameter, run.gradient, run.first,  run.second, run.copy.data,
                     run.size,      decay,        num_blocks, aligned};
    num_blocks += static_cast<unsigned>((run.size + elements_of_block - 1) / elements_of_block);
  }
};

/// The next N elements of a quantity that is kept, or none.
template <unsigned N, bool is_kept>
struct StatePack {
  Pack<float, N> pack;

  PPTRAIN_FUNCTION StatePack(float* state, std::size_t i) : pack(state + i) {}
  PPTRAIN_FUNCTION float* values() { return pack.values; }
  PPTRAIN_FUNCTION void store(float* state, std::size_t i) const { pack.store(state + i); }
};
template <unsigned N>
struct StatePack<N, false> {
  PPTRAIN_FUNCTION StatePack(float*, std::size_t) {}
  PPTRAIN_FUNCTION float* values() { return nullptr; }
  PPTRAIN_FUNCTION void store(float*, std::size_t) const {}
};

/// The next N elements of a run from i, by the shared body, and their copy of type T.
template <unsigned N, class T, class Body>
PPTRAIN_FUNCTION void update(const UpdateTable::Run& run, Body body, std::size_t i) {
  Pack<float, N> p(run.parameter + i);
  StatePack<N, (Body::num_states > 0)> first(run.first, i);
  StatePack<N, (Body::num_states > 1)> second(run.second, i);
  const Pack<float, N> g(run.gradient + i);
  body.parameter = p.values;
  body.gradient = g.values;
  body.first = first.values();
  body.second = second.values();
  for (unsigned e = 0; e < N; ++e) body(e);
  p.store(run.parameter + i);
  first.store(run.first, i);
  second.store(run.second, i);
  if (run.copy == nullptr) return;
  Pack<T, N> copy;
  for (unsigned e = 0; e < N; ++e) store(copy.values[e], p.values[e]);
  copy.store(static_cast<T*>(run.copy) + i);
}

/// Every block updates a part of one run.
template <class T, class Body>
__global__ void update_runs(const __grid_constant__ UpdateTable table, Body body) {
  unsigned r = table.count - 1;
  while (blockIdx.x < table.runs[r].first_block) --r;
  const UpdateTable::Run& run = table.runs[r];
  body.decay = run.decay;
  const std::size_t begin = (blockIdx.x - run.first_block) * elements_of_block;
  const std::size_t end =
      run.size < begin + elements_of_block ? run.size : begin + elements_of_block;
  std::size_t rest = begin;
  if (run.aligned) {
    rest = begin + (end - begin) / elements_of_pack * elements_of_pack;
    const std::size_t step = std::size_t{blockDim.x} * elements_of_pack;
    for (std::size_t i = begin + std::size_t{threadIdx.x} * elements_of_pack; i < rest; i += step) {
      update<elements_of_pack, T>(run, body, i);
    }
  }
  for (std::size_t i = rest + threadIdx.x; i < end; i += blockDim.x) update<1, T>(run, body, i);
}

/// As many runs as a launch takes. Returns how many.
template <class Body, class Step>
std::size_t launch_updates(CudaDevice& device, const UpdateRun* runs, std::size_t count,
                           const Step& step) {
  UpdateTable table = {};
  DType type = DType::f32;  // of the copies, which all runs have alike
  for (std::size_t r = 0; r < count && table.count < UpdateTable::capacity; ++r) {
    table.add(runs[r], Body(runs[r], step).decay);
    if (runs[r].copy.data != nullptr) type = runs[r].copy.type;
  }
  if (table.num_blocks == 0) return table.count;
  with_type(type, [&](auto element) {
    launch(device.stream(), table.num_blocks, threads_of_update, 0,
           update_runs<decltype(element), Body>, table, Body(UpdateRun(), step));
  });
  return table.count;
}

}  // namespace

std::size_t CudaKernels::update(const UpdateRun* runs, std::size_t count, const UpdateStep& step) {
  const auto launch_step = [&](const auto& one) {
    using Step = std::decay_t<decltype(one)>;
    return launch_updates<typename Step::template Body<float>>(device_, runs, count, one);
  };
  return std::visit(launch_step, step.step);
}

}  // namespace pptrain
