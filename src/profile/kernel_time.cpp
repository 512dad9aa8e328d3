#include "profile/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pptrain {
namespace {

constexpr double launch_seconds = 20e-6;  // of a kernel on a device of which nothing but rates is
                                          // known
constexpr double gpu_launch_seconds = 3e-6;  // between two kernels that a GPU has in its queue
/// Bytes that kernels for each operation of a loss move, over those of one that does all: they
/// convert the logits to fp32, take the largest, subtract it, take exponentials, add them up,
/// divide, and scale what B goes on with.
constexpr double unfused_loss = 3.0;

/// What a member of a tensor-parallel group has of a pass for a micro-batch.
struct Portion {
  double degree = 1.0;
  double samples = 1.0;

  double part(const Kernel& kernel) const {
    return kernel.share == Share::divided ? 1.0 / degree : 1.0;
  }
  double flop(const Kernel& kernel) const { return part(kernel) * kernel.flop * samples; }
  double bytes(const Kernel& kernel) const {
    return (kernel.bytes + kernel.shard_bytes / degree) * samples +
           part(kernel) * kernel.weight_bytes;
  }
};

double plain_seconds(const std::vector<Kernel>& pass, const Roofline& roofline,
                     const Portion& portion) {
  double sum = 0.0;
  for (const Kernel& kernel : pass) {
    sum += std::max(portion.flop(kernel) / roofline.flop_per_second,
                    portion.bytes(kernel) / roofline.bytes_per_second);
    sum += launch_seconds * kernel.launches;
  }
  return sum;
}

/// A tile of a product that a multiprocessor computes at a time, and the part of its rate that it
/// reaches with it: a small one reads more for each product.
struct Tile {
  double rows, columns, reached;
};
constexpr std::array<Tile, 6> tiles = {{{256, 128, 1.0},
                                        {128, 256, 1.0},
                                        {128, 128, 0.93},
                                        {128, 64, 0.8},
                                        {64, 128, 0.8},
                                        {64, 64, 0.65}}};

/// Part of all multiprocessors' time that tiles of the result are computed in: the last wave of
/// them is seldom full, nor are tiles at the edges. Of all sizes of tiles the best.
double filled(double rows, double columns, double multiprocessors) {
  double best = 0.0;
  for (const Tile& tile : tiles) {
    const double waves = std::ceil(std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns) /
                                   multiprocessors);
    const double used = rows * columns / (waves * multiprocessors * tile.rows * tile.columns);
    best = std::max(best, tile.reached * used);
  }
  return best;
}

/// Part of the rate that is left for matrices whose rows are so many elements long.
double aligned(const GpuKernels& gpu, std::initializer_list<double> lengths) {
  std::uint64_t bits = 64;
  for (const double length : lengths) bits |= static_cast<std::uint64_t>(length);
  const double bytes =
      gpu.element_bytes * static_cast<double>(std::uint64_t{1} << std::countr_zero(bits));
  return bytes < 16.0 ? gpu.unaligned : bytes < 128.0 ? gpu.half_aligned : 1.0;
}

/// Part of the peak that a product reaches.
double product_share(ProductShape shape, const GpuKernels& gpu, const Portion& portion) {
  using Dimension = ProductShape::Dimension;
  const auto size = [&shape](Dimension dimension) -> double& {
    return dimension == Dimension::rows      ? shape.rows
           : dimension == Dimension::columns ? shape.columns
                                             : shape.inner;
  };
  const double aligns = aligned(gpu, {shape.rows, shape.columns, shape.inner});
  size(shape.grows) *= portion.samples;
  if (shape.divided) size(*shape.divided) /= portion.degree;
  const double columns_left = shape.inner / (shape.inner + gpu.half_inner);
  return gpu.products * std::min(aligns, aligned(gpu, {shape.rows, shape.columns, shape.inner})) *
         columns_left * filled(shape.rows, shape.columns, gpu.multiprocessors);
}

enum class Pass { forward, inputs, weights };

/// A pass of a layer on one member of a group, on a known GPU.
class GpuPass {
 public:
  GpuPass(const Roofline& roofline, const Portion& portion, Pass pass)
      : gpu_(*roofline.gpu),
        bytes_per_second_(roofline.bytes_per_second),
        portion_(portion),
        pass_(pass) {}

  double seconds(const std::vector<Kernel>& kernels) const {
    double sum = 0.0;
    double launches = 0.0;
    for (const Kernel& kernel : kernels) {
      sum += kernel_seconds(kernel);
      launches += kernel.launches;
      if (adds(kernel)) launches += kernel.launches;
    }
    if (launches == 0.0) return 0.0;
    // The host launches ahead of the GPU; where it is about as slow, each waits for the other now
    // and then.
    constexpr double sharpness = 4.0;
    const double on_gpu = sum + gpu_launch_seconds * launches;
    return std::pow(
        std::pow(on_gpu, sharpness) + std::pow(gpu_.launch_seconds * launches, sharpness),
        1.0 / sharpness);
  }

 private:
  double moving(const Kernel& kernel) const { return portion_.bytes(kernel) / bytes_per_second_; }
  bool adds(const Kernel& kernel) const {
    return pass_ == Pass::weights && gpu_.adds_gradients && kernel.flop > 0.0 &&
           kernel.weight_bytes > 0.0;
  }

  double kernel_seconds(const Kernel& kernel) const {
    if (kernel.attention)
      return gpu_.stores_scores ? stored_attention(kernel) : fused_attention(kernel);
    if (kernel.flop == 0.0) return (kernel.is_loss ? gpu_.loss : gpu_.elementwise) * moving(kernel);
    const double share =
        kernel.product ? product_share(*kernel.product, gpu_, portion_) : gpu_.products;
    const double product = std::max(portion_.flop(kernel) / (share * gpu_.peak), moving(kernel));
    // The product writes a gradient; adding it reads both and writes one. W's bytes are those of
    // two gradients.
    return product + (adds(kernel)
                          ? 1.5 * portion_.part(kernel) * kernel.weight_bytes / bytes_per_second_
                          : 0.0);
  }

  double fused_attention(const Kernel& kernel) const {
    const double share = gpu_.attention * (pass_ == Pass::forward ? 1.0 : gpu_.attention_backward);
    return std::max(portion_.flop(kernel) / (share * gpu_.peak), moving(kernel));
  }

  double stored_attention(const Kernel& kernel) const {
    const ScoresShape& shape = *kernel.attention;
    const double scores = portion_.part(kernel) * portion_.samples * shape.scores;
    const double share = gpu_.products * gpu_.scores_products * shape.head_size /
                         (shape.head_size + gpu_.half_inner) * aligned(gpu_, {shape.head_size});
    const bool forward = pass_ == Pass::forward;
    const double flop = (forward ? 4.0 : 8.0) * scores * shape.head_size;
    const double passes = forward ? gpu_.scores_forward : gpu_.scores_backward;
    return std::max(flop / (share * gpu_.peak), moving(kernel)) +
           passes * scores * shape.bytes / bytes_per_second_;
  }

  const GpuKernels& gpu_;
  double bytes_per_second_;
  Portion portion_;
  Pass pass_;
};

/// How often stored scores are read or written, forward and backward, each kernel for itself:
/// products write and read them, the softmax reads and writes them; dropout adds a copy and a mask
/// of bytes, and kernels that scale and mask them one by one read and write them twice more.
struct ScorePasses {
  double forward = 4.0, backward = 7.0;

  ScorePasses(const RuntimeTraits& runtime, double element_bytes) {
    if (runtime.drops_scores) add(2.0 + 1.0 / element_bytes);
    if (!runtime.fused_softmax || element_bytes > 2.0) add(4.0);
  }
  void add(double more) {
    forward += more;
    backward += more;
  }
};

}  // namespace

GpuKernels gpu_kernels(const GpuKind& kind, double peak, double element_bytes,
                       const RuntimeTraits& runtime, const KernelConstants& constants) {
  GpuKernels gpu;
  gpu.multiprocessors = kind.multiprocessors;
  gpu.peak = peak;
  gpu.element_bytes = element_bytes;
  gpu.products = constant_of(constants, "products", kind.architecture);
  gpu.attention = constant_of(constants, "attention", kind.architecture);
  gpu.attention_backward = constants.at("attention.backward");
  gpu.scores_products = constants.at("scores.products");
  const ScorePasses passes(runtime, element_bytes);
  gpu.scores_forward = constants.at("scores.forward") * passes.forward;
  gpu.scores_backward = constants.at("scores.backward") * passes.backward;
  gpu.half_inner = constants.at("inner");
  gpu.unaligned = constants.at("align.none");
  gpu.half_aligned = constants.at("align.half");
  const std::string& kernels = runtime.kernels.empty() ? runtime.name : runtime.kernels;
  const double wide = runtime.wide_traffic ? 2.0 : 1.0;
  gpu.elementwise = constant_of(constants, "elementwise", kernels) * wide;
  gpu.loss = runtime.fused_loss ? 1.0 : unfused_loss;
  gpu.adds_gradients = runtime.adds_gradients;
  gpu.launch_seconds = constant_of(constants, "launch", kernels) *
                       (kind.arm_host ? constants.at("launch.arm") : 1.0);
  gpu.stores_scores = !runtime.fused_attention;
  return gpu;
}

LayerSeconds roofline_seconds(const Work& work, const Roofline& roofline, int tensor_parallel,
                              double samples) {
  const Portion portion = {static_cast<double>(tensor_parallel), samples};
  const auto seconds = [&](const std::vector<Kernel>& kernels, Pass pass) {
    return roofline.gpu ? GpuPass(roofline, portion, pass).seconds(kernels)
                        : plain_seconds(kernels, roofline, portion);
  };
  return {seconds(work.forward, Pass::forward), seconds(work.backward_input, Pass::inputs),
          seconds(work.backward_weight, Pass::weights)};
}

}  // namespace pptrain
