#include "cuda/cudnn_attention.hpp"

#ifdef PPTRAIN_HAVE_CUDNN

#include <fmt/format.h>

#include <algorithm>
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
/// The last version whose backward pass needs a mask of padding where the number of keys is no
/// multiple of 128, as NVIDIA's front end adds one.
constexpr std::size_t last_with_whole_tiles = 91500;
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

  bool takes(const AttentionForm& form, const Matrix& q, const Matrix& k, const Matrix& v,
             const Matrix& out) override;
  void forward(const AttentionForwardCall& call, Arena& workspace) override;
  void backward(const AttentionBackwardCall& call, Arena& workspace) override;
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

  static CudnnAttentionShape shape_of(const AttentionForm& form, const Matrix& q, const Matrix& k,
                                      const Matrix& v, const Matrix& out);
  /// What a plan is run on.
  struct Run {
    const void* kind;  ///< the graph's
    CudnnAttentionShape shape;
    float scale;
    std::vector<const void*> pointers;  ///< to memory of the device, by tensor
    std::vector<Scalar> scalars;
    void* scratch;
  };
  /// Runs the plan behind what the device was told.
  void run(const CudnnPlan& plan, Run call);
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

/// Whether key heads are those of whole groups of query heads.
bool has_whole_groups(const AttentionForm& form) {
  return form.first == 0 && form.heads == form.key_heads * form.group;
}

CudnnAttentionShape CudnnAttentionOfDevice::shape_of(const AttentionForm& form, const Matrix& q,
                                                     const Matrix& k, const Matrix& v,
                                                     const Matrix& out) {
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {number(form.samples),
          number(form.sequence_length),
          number(form.heads),
          number(form.head_size),
          number(form.keys()),
          number(form.key_heads),
          form.causal,
          number(form.window < form.sequence_length ? form.window : 0),
          number(q.stride),
          number(k.stride),
          number(v.stride),
          number(out.stride),
          q.type == DType::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF};
}

template <class Graph>
CudnnAttentionOfDevice::Compiled<Graph>& CudnnAttentionOfDevice::compiled(
    Plans<Graph>& plans, const CudnnAttentionShape& shape) {
  const auto found = plans.find(shape);
  if (found != plans.end()) return found->second;
  Compiled<Graph> made{Graph(shape), std::nullopt};
  std::string why_not;
  made.plan = made.graph.graph.build(handle_, why_not);
  if (!made.plan) {
    log_warning(
        "attention of {} samples, {} tokens to {}, {} heads of {} elements and {} of keys runs by "
        "own kernels, not by "
        "cuDNN ({})",
        shape.samples, shape.length, shape.keys, shape.heads, shape.head_size, shape.key_heads,
        why_not);
  }
  return plans.emplace(shape, std::move(made)).first->second;
}

bool CudnnAttentionOfDevice::takes(const AttentionForm& form, const Matrix& q, const Matrix& k,
                                   const Matrix& v, const Matrix& out) {
  // What its fused engines ask for: 16-byte loads, heads that fit in their tiles, and more than one
  // token. Masks by document would be a matrix of (T, T) additions per sample in memory, or samples
  // of ragged lengths.
  if (q.type == DType::f32 || form.head_size % 8 != 0 || form.head_size > 128 ||
      form.sequence_length < 2 || form.keys() < 2 || form.samples == 0 || form.heads == 0 ||
      !has_whole_groups(form) || form.document_begin != nullptr || !form.is_plain()) {
    return false;
  }
  if (form.keys() % 128 != 0 && cudnnGetVersion() <= last_with_whole_tiles) return false;
  for (const Matrix* matrix : {&q, &k, &v, &out}) {
    if (!has_aligned_rows(*matrix)) return false;
  }
  const CudnnAttentionShape shape = shape_of(form, q, k, v, out);
  return compiled(plans_, shape).plan.has_value() &&
         compiled(backward_plans_, shape).plan.has_value();
}

void CudnnAttentionOfDevice::run(const CudnnPlan& plan, Run call) {
  std::array<const void*, most_pointers> of_call = {};
  PPTRAIN_ASSERT(call.pointers.size() <= most_pointers, "{} tensors", call.pointers.size());
  std::copy(call.pointers.begin(), call.pointers.end(), of_call.begin());
  const auto run_now = [handle = handle_, &plan, pointers = std::move(call.pointers),
                        scalars = std::move(call.scalars),
                        scratch = call.scratch](cudaStream_t /*the handle's*/) {
    std::vector<const void*> all = pointers;
    for (const Scalar& scalar : scalars) all[scalar.tensor] = &scalar.value;
    plan.run(handle, all, scratch);
  };
  // The scalars other than the scale follow from the shape.
  device_.stream().call(call.kind, run_now, call.shape, call.scale, of_call, call.scratch);
}

void CudnnAttentionOfDevice::forward(const AttentionForwardCall& call, Arena& workspace) {
  const CudnnAttentionShape shape = shape_of(call.form, call.q, call.k, call.v, call.out);
  const auto& [graph, plan] = compiled(plans_, shape);
  std::vector<const void*> pointers(graph.graph.num_tensors());
  pointers[graph.q] = call.q.data;
  pointers[graph.k] = call.k.data;
  pointers[graph.v] = call.v.data;
  pointers[graph.out] = call.out.data;
  pointers[graph.log_sum] = call.log_sum;
  const Buffer scratch(workspace, plan->workspace_bytes());
  std::vector<Scalar> scalars{{graph.scale, call.form.scale}};
  if (graph.lowest) scalars.push_back({*graph.lowest, lowest});
  if (graph.window) scalars.push_back({*graph.window, static_cast<float>(call.form.window)});
  run(*plan, {&forward_call, shape, call.form.scale, std::move(pointers), std::move(scalars),
              scratch.data()});
}

void CudnnAttentionOfDevice::backward(const AttentionBackwardCall& call, Arena& workspace) {
  const CudnnAttentionShape shape = shape_of(call.form, call.q, call.k, call.v, call.out);
  const auto& [graph, plan] = compiled(backward_plans_, shape);
  const Tensor delta(workspace, call.form.samples * call.form.heads, call.form.sequence_length),
      sums(workspace, call.out.rows, call.out.columns);
  device_.fill(sums.matrix().data, 0, sums.bytes());
  std::vector<const void*> pointers(graph.graph.num_tensors());
  const auto give = [&](CudnnTensor tensor, const void* memory) { pointers[tensor] = memory; };
  give(graph.q, call.q.data);
  give(graph.k, call.k.data);
  give(graph.v, call.v.data);
  give(graph.out, call.out.data);
  give(graph.dout, call.dout.data);
  give(graph.log_sum, call.log_sum);
  give(graph.dq, call.dq.data);
  give(graph.dk, call.dk.data);
  give(graph.dv, call.dv.data);
  give(graph.delta, delta.f32());
  give(graph.dq_sums, sums.f32());
  Tensor dk_parts, dv_parts;
  if (graph.dk_parts) {
    dk_parts = Tensor(workspace, call.k.rows, call.out.columns, call.out.type);
    dv_parts = Tensor(workspace, call.k.rows, call.out.columns, call.out.type);
    give(*graph.dk_parts, dk_parts.matrix().data);
    give(*graph.dv_parts, dv_parts.matrix().data);
  }
  const Buffer scratch(workspace, plan->workspace_bytes());
  std::vector<Scalar> scalars{{graph.scale, call.form.scale}, {graph.one, 1.0F}};
  if (graph.lowest) scalars.push_back({*graph.lowest, lowest});
  if (graph.window) scalars.push_back({*graph.window, static_cast<float>(call.form.window)});
  run(*plan, {&backward_call, shape, call.form.scale, std::move(pointers), std::move(scalars),
              scratch.data()});
}

}  // namespace

std::unique_ptr<CudnnAttention> make_cudnn_attention(CudaDevice& device) {
  if (cudnnGetVersion() < oldest_version) {
    log_warning("attention runs by own kernels: cuDNN {} is older than {}", cudnnGetVersion(),
                oldest_version);
    return nullptr;
  }
  return std::make_unique<CudnnAttentionOfDevice>(device);
}

#else

std::unique_ptr<CudnnAttention> make_cudnn_attention(CudaDevice& /*device*/) { return nullptr; }

#endif

}  // namespace pptrain
