#include "cuda/cudnn_attention.hpp"

#ifdef PPTRAIN_HAVE_CUDNN

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "base/log.hpp"
#include "cuda/cudnn_attention_graphs.hpp"
#include "cuda/device.hpp"

#endif

namespace pptrain {

#ifdef PPTRAIN_HAVE_CUDNN

namespace {

using namespace cuda;

/// Before 9.10.2, cuDNN's backward pass is wrong for some sizes (release notes of 9.10.2).
constexpr std::size_t oldest_version = 91002;
/// Tensors of a graph.
constexpr std::size_t most_pointers = 64;

class CudnnAttentionOfDevice final : public CudnnAttention {
 public:
  explicit CudnnAttentionOfDevice(CudaDevice& device) : device_(device) {
    PPTRAIN_CHECKED(cudnnCreate, &handle_);
    PPTRAIN_CHECKED(cudnnSetStream, handle_, device.stream().handle());
  }
  ~CudnnAttentionOfDevice() override {
    device_.stream().flush_or_warn();
    plans_.clear();
    backward_plans_.clear();
    PPTRAIN_CUDA_OR_WARN(cudnnDestroy, handle_);
  }
  CudnnAttentionOfDevice(const CudnnAttentionOfDevice&) = delete;
  CudnnAttentionOfDevice& operator=(const CudnnAttentionOfDevice&) = delete;

  bool takes(const Matrix& qkv, const Matrix& out, std::size_t samples, std::size_t sequence_length,
             std::size_t heads) override;
  void forward(const Matrix& qkv, std::size_t samples, std::size_t sequence_length, std::size_t heads,
               const Matrix& out, float* log_sum, Arena& workspace) override;
  void backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout, std::size_t samples,
                std::size_t sequence_length, std::size_t heads, const Matrix& dqkv, Arena& workspace) override;
  std::string name() const override {
    const std::size_t version = cudnnGetVersion();
    return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

 private:
  /// A graph's tensors and what it was compiled to.
  template <class Graph>
  struct Compiled {
    Graph graph;
    std::optional<CudnnPlan> plan;
  };
  struct Scalar {
    CudnnTensor tensor;
    float value;
  };
  template <class Graph>
  using Plans = std::map<CudnnAttentionShape, Compiled<Graph>>;

  static CudnnAttentionShape shape_of(const Matrix& qkv, const Matrix& out, std::size_t samples, std::size_t length,
                                      std::size_t heads);
  /// The plan on memory of the device and scalars, behind what the device was told. `kind` is the graph's.
  void run(const void* kind, const CudnnAttentionShape& shape, const CudnnPlan& plan, std::vector<const void*> pointers,
           std::vector<Scalar> scalars, void* scratch);
  template <class Graph>
  Compiled<Graph>& compiled(Plans<Graph>& plans, const CudnnAttentionShape& shape);

  CudaDevice& device_;
  cudnnHandle_t handle_ = nullptr;
  Plans<CudnnForward> plans_;
  Plans<CudnnBackward> backward_plans_;
};

constexpr char forward_call = 0, backward_call = 0;  // for their addresses
constexpr float lowest = -std::numeric_limits<float>::infinity();

bool has_aligned_rows(const Matrix& matrix) {
  return matrix.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
}

float scale_of(const CudnnAttentionShape& shape) { return 1.0F / std::sqrt(static_cast<float>(shape.head_size)); }

/// One of q (0), k (1) and v (2) of the first head.
const void* part(const Matrix& qkv, const CudnnAttentionShape& shape, std::int64_t which) {
  return qkv.columns_from(static_cast<std::size_t>(which * shape.heads * shape.head_size), 0).data;
}

CudnnAttentionShape CudnnAttentionOfDevice::shape_of(const Matrix& qkv, const Matrix& out, std::size_t samples,
                                                     std::size_t length, std::size_t heads) {
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {number(samples),
          number(length),
          number(heads),
          number(out.columns / heads),
          number(qkv.stride),
          number(out.stride),
          qkv.type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF};
}

template <class Graph>
CudnnAttentionOfDevice::Compiled<Graph>& CudnnAttentionOfDevice::compiled(Plans<Graph>& plans,
                                                                          const CudnnAttentionShape& shape) {
  const auto found = plans.find(shape);
  if (found != plans.end()) return found->second;
  Compiled<Graph> made{Graph(shape), std::nullopt};
  std::string why_not;
  made.plan = made.graph.graph.build(handle_, why_not);
  if (!made.plan) {
    log_warning("attention of {} samples, {} tokens, {} heads of {} elements runs by own kernels, not by cuDNN ({})",
                shape.samples, shape.length, shape.heads, shape.head_size, why_not);
  }
  return plans.emplace(shape, std::move(made)).first->second;
}

bool CudnnAttentionOfDevice::takes(const Matrix& qkv, const Matrix& out, std::size_t samples, std::size_t length,
                                   std::size_t heads) {
  const CudnnAttentionShape shape = shape_of(qkv, out, samples, length, heads);
  // What its fused engines ask for: 16-byte loads, heads that fit in their tiles, and more than one token.
  if (qkv.type == DType::f32 || shape.head_size % 8 != 0 || shape.head_size > 128 || length < 2 || samples == 0 ||
      !has_aligned_rows(qkv) || !has_aligned_rows(out)) {
    return false;
  }
  return compiled(plans_, shape).plan.has_value() && compiled(backward_plans_, shape).plan.has_value();
}

void CudnnAttentionOfDevice::run(const void* kind, const CudnnAttentionShape& shape, const CudnnPlan& plan,
                                 std::vector<const void*> pointers, std::vector<Scalar> scalars, void* scratch) {
  std::array<const void*, most_pointers> of_call = {};
  PPTRAIN_ASSERT(pointers.size() <= most_pointers, "{} tensors", pointers.size());
  std::copy(pointers.begin(), pointers.end(), of_call.begin());
  const auto run_now = [handle = handle_, &plan, pointers = std::move(pointers), scalars = std::move(scalars),
                        scratch](cudaStream_t /*the handle's*/) {
    std::vector<const void*> all = pointers;
    for (const Scalar& scalar : scalars) all[scalar.tensor] = &scalar.value;
    plan.run(handle, all, scratch);
  };
  // The scalars follow from the shape.
  device_.stream().call(kind, run_now, shape, of_call, scratch);
}

void CudnnAttentionOfDevice::forward(const Matrix& qkv, std::size_t samples, std::size_t length, std::size_t heads,
                                     const Matrix& out, float* log_sum, Arena& workspace) {
  const CudnnAttentionShape shape = shape_of(qkv, out, samples, length, heads);
  const auto& [graph, plan] = compiled(plans_, shape);
  std::vector<const void*> pointers(graph.graph.num_tensors());
  pointers[graph.q] = part(qkv, shape, 0);
  pointers[graph.k] = part(qkv, shape, 1);
  pointers[graph.v] = part(qkv, shape, 2);
  pointers[graph.out] = out.data;
  pointers[graph.log_sum] = log_sum;
  const Buffer scratch(workspace, plan->workspace_bytes());
  run(&forward_call, shape, *plan, std::move(pointers), {{graph.scale, scale_of(shape)}, {graph.lowest, lowest}},
      scratch.data());
}

void CudnnAttentionOfDevice::backward(const Matrix& qkv, const Matrix& out, const float* log_sum, const Matrix& dout,
                                      std::size_t samples, std::size_t length, std::size_t heads, const Matrix& dqkv,
                                      Arena& workspace) {
  const CudnnAttentionShape shape = shape_of(qkv, out, samples, length, heads);
  const auto& [graph, plan] = compiled(backward_plans_, shape);
  const Tensor delta(workspace, samples * heads, length), sums(workspace, out.rows, out.columns);
  device_.fill(sums.matrix().data, 0, sums.bytes());
  std::vector<const void*> pointers(graph.graph.num_tensors());
  pointers[graph.q] = part(qkv, shape, 0);
  pointers[graph.k] = part(qkv, shape, 1);
  pointers[graph.v] = part(qkv, shape, 2);
  pointers[graph.out] = out.data;
  pointers[graph.dout] = dout.data;
  pointers[graph.log_sum] = log_sum;
  pointers[graph.dq] = part(dqkv, shape, 0);
  pointers[graph.dk] = part(dqkv, shape, 1);
  pointers[graph.dv] = part(dqkv, shape, 2);
  pointers[graph.delta] = delta.f32();
  pointers[graph.dq_sums] = sums.f32();
  const Buffer scratch(workspace, plan->workspace_bytes());
  run(&backward_call, shape, *plan, std::move(pointers),
      {{graph.scale, scale_of(shape)}, {graph.lowest, lowest}, {graph.one, 1.0F}}, scratch.data());
}

}  // namespace

std::unique_ptr<CudnnAttention> make_cudnn_attention(CudaDevice& device) {
  if (cudnnGetVersion() < oldest_version) {
    log_warning("attention runs by own kernels: cuDNN {} is older than {}", cudnnGetVersion(), oldest_version);
    return nullptr;
  }
  return std::make_unique<CudnnAttentionOfDevice>(device);
}

#else

std::unique_ptr<CudnnAttention> make_cudnn_attention(CudaDevice& /*device*/) { return nullptr; }

#endif

}  // namespace pptrain
