#include "profile/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace pptrain {
namespace {

constexpr double launch_seconds = 20e-6;     // of a kernel on a device of which nothing but rates is known
constexpr double gpu_launch_seconds = 3e-6;  // between two kernels that a GPU has in its queue

/// What a member of a tensor-parallel group has of a pass for a micro-batch.
struct Portion {
  double degree = 1.0;
  double samples = 1.0;

  double part(const Kernel& kernel) const { return kernel.share == Share::divided ? 1.0 / degree : 1.0; }
  double flop(const Kernel& kernel) const { return part(kernel) * kernel.flop * samples; }
  double bytes(const Kernel& kernel) const {
    return (kernel.bytes + kernel.shard_bytes / degree) * samples + part(kernel) * kernel.weight_bytes;
  }
};

double plain_seconds(const std::vector<Kernel>& pass, const Roofline& roofline, const Portion& portion) {
  double sum = 0.0;
  for (const Kernel& kernel : pass) {
    sum += std::max(portion.flop(kernel) / roofline.flop_per_second, portion.bytes(kernel) / roofline.bytes_per_second);
    sum += launch_seconds * kernel.launches;
  }
  return sum;
}

/// A tile of a product that a multiprocessor computes at a time, and the part of its rate that it reaches with it: a
/// small one reads more for each product.
struct Tile {
  double rows, columns, reached;
};
constexpr std::array<Tile, 6> tiles = {
    {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.93}, {128, 64, 0.8}, {64, 128, 0.8}, {64, 64, 0.65}}};

/// Part of all multiprocessors' time that tiles of the result are computed in: the last wave of them is seldom full,
/// nor are tiles at the edges. Of all sizes of tiles the best.
double filled(double rows, double columns, double multiprocessors) {
  double best = 0.0;
  for (const Tile& tile : tiles) {
    const double waves = std::ceil(std::ceil(rows / tile.rows) * std::ceil(columns / tile.columns) / multiprocessors);
    const double used = rows * columns / (waves * multiprocessors * tile.rows * tile.columns);
    best = std::max(best, tile.reached * used);
  }
  return best;
}

/// Part of the rate that is left for matrices whose rows are so many elements long.
double aligned(const GpuKernels& gpu, std::initializer_list<double> lengths) {
  std::int64_t common = 0;
  for (const double length : lengths) common = std::gcd(common, static_cast<std::int64_t>(length));
  const double bytes = gpu.element_bytes * static_cast<double>(std::gcd(common, std::int64_t{64}));
  return bytes < 16.0 ? gpu.unaligned : bytes < 128.0 ? gpu.half_aligned : 1.0;
}

/// Part of the peak that a product reaches.
double product_share(ProductShape shape, const GpuKernels& gpu, const Portion& portion) {
  using Dimension = ProductShape::Dimension;
  const auto size = [&shape](Dimension dimension) -> double& {
    return dimension == Dimension::rows ? shape.rows : dimension == Dimension::columns ? shape.columns : shape.inner;
  };
  const double aligns = aligned(gpu, {shape.rows, shape.columns, shape.inner});
  size(shape.grows) *= portion.samples;
  if (shape.divided) size(*shape.divided) /= portion.degree;
  const double columns_left = shape.inner / (shape.inner + gpu.half_inner);
  return gpu.products * std::min(aligns, aligned(gpu, {shape.rows, shape.columns, shape.inner})) * columns_left *
         filled(shape.rows, shape.columns, gpu.multiprocessors);
}

enum class Direction { forward, backward };

double attention_seconds(const Kernel& kernel, const Roofline& roofline, const Portion& portion, Direction direction) {
  const GpuKernels& gpu = *roofline.gpu;
  const bool back = direction == Direction::backward;
  const double moving = portion.bytes(kernel) / roofline.bytes_per_second;
  if (!gpu.stores_scores) {
    const double share = gpu.attention * (back ? gpu.attention_backward : 1.0);
    return std::max(portion.flop(kernel) / (share * gpu.peak), moving);
  }
  const ScoresShape& shape = *kernel.attention;
  const double scores = portion.part(kernel) * portion.samples * shape.scores;
  const double share = gpu.products * gpu.scores_products * shape.head_size / (shape.head_size + gpu.half_inner) *
                       aligned(gpu, {shape.head_size});
  const double flop = (back ? 8.0 : 4.0) * scores * shape.head_size;
  const double passes = back ? gpu.scores_backward : gpu.scores_forward;
  return std::max(flop / (share * gpu.peak), moving) + passes * scores * shape.bytes / roofline.bytes_per_second;
}

double gpu_seconds(const std::vector<Kernel>& pass, const Roofline& roofline, const Portion& portion,
                   Direction direction) {
  const GpuKernels& gpu = *roofline.gpu;
  double sum = 0.0;
  double launches = 0.0;
  for (const Kernel& kernel : pass) {
    launches += kernel.launches;
    const double moving = portion.bytes(kernel) / roofline.bytes_per_second;
    if (kernel.attention) {
      sum += attention_seconds(kernel, roofline, portion, direction);
    } else if (kernel.flop > 0.0) {
      const double share = kernel.product ? product_share(*kernel.product, gpu, portion) : gpu.products;
      sum += std::max(portion.flop(kernel) / (share * gpu.peak), moving);
    } else {
      sum += gpu.elementwise * moving;
    }
  }
  if (launches == 0.0) return 0.0;
  // The host launches ahead of the GPU; where it is about as slow, each waits for the other now and then.
  constexpr double sharpness = 4.0;
  const double on_gpu = sum + gpu_launch_seconds * launches;
  return std::pow(std::pow(on_gpu, sharpness) + std::pow(gpu.launch_seconds * launches, sharpness), 1.0 / sharpness);
}

}  // namespace

GpuKernels gpu_kernels(const GpuKind& kind, double peak, double element_bytes, const RuntimeTraits& runtime,
                       const KernelConstants& constants) {
  GpuKernels gpu;
  gpu.multiprocessors = kind.multiprocessors;
  gpu.peak = peak;
  gpu.element_bytes = element_bytes;
  gpu.products = constant_of(constants, "products", kind.architecture);
  gpu.attention = constant_of(constants, "attention", kind.architecture);
  gpu.attention_backward = constants.at("attention.backward");
  gpu.scores_products = constants.at("scores.products");
  gpu.scores_forward = constants.at("scores.forward");
  gpu.scores_backward = constants.at("scores.backward");
  gpu.half_inner = constants.at("inner");
  gpu.unaligned = constants.at("align.none");
  gpu.half_aligned = constants.at("align.half");
  gpu.elementwise = constant_of(constants, "elementwise", runtime.name) * (runtime.wide_traffic ? 2.0 : 1.0);
  gpu.launch_seconds =
      constant_of(constants, "launch", runtime.name) * (kind.arm_host ? constants.at("launch.arm") : 1.0);
  gpu.stores_scores = !runtime.fused_attention;
  return gpu;
}

LayerSeconds roofline_seconds(const Work& work, const Roofline& roofline, int tensor_parallel, double samples) {
  const Portion portion = {static_cast<double>(tensor_parallel), samples};
  const auto seconds = [&](const std::vector<Kernel>& pass, Direction direction) {
    return roofline.gpu ? gpu_seconds(pass, roofline, portion, direction) : plain_seconds(pass, roofline, portion);
  };
  return {seconds(work.forward, Direction::forward), seconds(work.backward_input, Direction::backward),
          seconds(work.backward_weight, Direction::backward)};
}

}  // namespace pptrain
