#include <cmath>

#include "cuda/kernels.hpp"
#include "cuda/packs.hpp"
#include "kernels/bodies/optimizer.hpp"
#include "kernels/typed_rows.hpp"

namespace pptrain {

using namespace cuda;
using namespace kernels;

namespace {

constexpr unsigned elements_of_pack = 8, threads_of_update = 256;
constexpr std::size_t elements_of_block = std::size_t{8} * threads_of_update * elements_of_pack;

/// The runs of one launch. It travels with the launch, which may carry 4 KiB.
struct AdamWTable {
  static constexpr unsigned capacity = 32;

  struct Run {
    float* parameter;
    const float* gradient;
    float *m, *v;
    void* copy;  // may be null
    std::size_t size;
    float decay;
    unsigned first_block;
    bool aligned;
  };

  Run runs[capacity];
  unsigned count = 0, num_blocks = 0;

  void add(const AdamWRun& run, float learning_rate) {
    const bool aligned = is_aligned(run.parameter) && is_aligned(run.gradient) && is_aligned(run.m) &&
                         is_aligned(run.v) && is_aligned(run.copy.data);
    runs[count++] = {
        run.parameter, run.gradient, run.m, run.v, run.copy.data, run.size, 1.0f - learning_rate * run.weight_decay,
        num_blocks,    aligned};
    num_blocks += static_cast<unsigned>((run.size + elements_of_block - 1) / elements_of_block);
  }
};

/// The next N elements of a run from i, by the shared body, and their copy of type T.
template <unsigned N, class T>
PPTRAIN_FUNCTION void update(const AdamWTable::Run& run, bodies::AdamW<float> body, std::size_t i) {
  Pack<float, N> p(run.parameter + i), first(run.m + i), second(run.v + i);
  const Pack<float, N> g(run.gradient + i);
  body.parameter = p.values;
  body.gradient = g.values;
  body.m = first.values;
  body.v = second.values;
  for (unsigned e = 0; e < N; ++e) body(e);
  p.store(run.parameter + i);
  first.store(run.m + i);
  second.store(run.v + i);
  if (run.copy == nullptr) return;
  Pack<T, N> copy;
  for (unsigned e = 0; e < N; ++e) store(copy.values[e], p.values[e]);
  copy.store(static_cast<T*>(run.copy) + i);
}

/// Every block updates a part of one run.
template <class T>
__global__ void adamw_runs(const __grid_constant__ AdamWTable table, bodies::AdamW<float> body) {
  unsigned r = table.count - 1;
  while (blockIdx.x < table.runs[r].first_block) --r;
  const AdamWTable::Run& run = table.runs[r];
  body.decay = run.decay;
  const std::size_t begin = (blockIdx.x - run.first_block) * elements_of_block;
  const std::size_t end = run.size < begin + elements_of_block ? run.size : begin + elements_of_block;
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

template <class T>
struct SgdPacks : bodies::Sgd<T> {
  template <unsigned N>
  PPTRAIN_FUNCTION void apply(std::size_t, std::size_t i) const {
    Pack<float, N> p(this->parameter + i);
    const Pack<float, N> g(this->gradient + i);
    Pack<T, N> rounded;
    bodies::Sgd<T> body = *this;
    body.parameter = p.values;
    body.gradient = g.values;
    body.copy = rounded.values;
    for (unsigned e = 0; e < N; ++e) body(e);
    p.store(this->parameter + i);
    if constexpr (!std::is_same_v<T, float>) rounded.store(this->copy + i);
  }
};

}  // namespace

std::size_t CudaKernels::adamw(const AdamWRun* runs, std::size_t count, const AdamWStep& step) {
  AdamWTable table = {};
  DType type = DType::f32;  // of the copies, which all runs have alike
  for (std::size_t r = 0; r < count && table.count < AdamWTable::capacity; ++r) {
    table.add(runs[r], step.learning_rate);
    if (runs[r].copy.data != nullptr) type = runs[r].copy.type;
  }
  const bodies::AdamW<float> body{nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  0.0f,
                                  step.learning_rate / step.bias_correction1,
                                  step.beta1,
                                  step.beta2,
                                  1.0f / std::sqrt(step.bias_correction2),
                                  step.epsilon,
                                  step.gradient_scale};
  if (table.num_blocks == 0) return table.count;
  with_type(type, [&](auto element) {
    launch(device_.stream(), table.num_blocks, threads_of_update, 0, adamw_runs<decltype(element)>, table, body);
  });
  return table.count;
}

void CudaKernels::sgd(float* parameter, const float* gradient, const Matrix& copy, std::size_t n, float learning_rate,
                      float gradient_scale) {
  const bool aligned = is_aligned(parameter) && is_aligned(gradient) && is_aligned(copy.data);
  with_type(copy.type, [&](auto element) {
    using T = decltype(element);
    launch_packs<elements_of_pack>(
        device_.stream(), {1, n}, aligned,
        SgdPacks<T>{{parameter, gradient, static_cast<T*>(copy.data), learning_rate * gradient_scale}});
  });
}

}  // namespace pptrain
