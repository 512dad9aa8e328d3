#pragma once

#include <cstdint>
#include <string>

#include "model/axes.hpp"
#include "model/forms.hpp"

namespace pptrain {

/// The operators of feature maps, whose rows are pixels and whose columns are channels, and of what
/// draws images.
namespace op {

/// Each pixel of the result is the product of the weight with the pixels under the window, summed
/// in fp32. Parameters: the weight (out, channels * window), a row of it as (channel, row, column),
/// and with `bias` b (out). By columns the channels of the result are divided, by rows those of the
/// input are, and the result is a partial sum.
struct Convolution {
  Window window;
  bool bias = false;
  WeightDivision division = WeightDivision::none;
};

/// y = (x - mean) / sqrt(variance + epsilon) * gain + offset, where mean and biased variance of a
/// channel are those of all pixels of a micro-batch, of all its replicas together (Ioffe and
/// Szegedy, "Batch normalization", 2015). Parameters: gain and offset (channels). Buffers, by
/// `name`: running_mean and running_var, which become (1 - momentum) of themselves + momentum * the
/// micro-batch's mean and unbiased variance, and which an evaluation takes in their place;
/// num_batches_tracked. Where channels are divided a member normalises its own, and has the buffers
/// whole.
struct BatchNorm {
  std::string name;  ///< what the names of its buffers begin with
  double epsilon = 1e-5;
  double momentum = 0.1;
};

/// One number for the pixels under a window, channel by channel.
struct Pool {
  PoolKind kind = PoolKind::max;
  Window window;
};

/// A feature map as one row of each sample, channel by channel.
struct Flatten {};

/// The numbers of each sample in the same order as other rows and columns.
struct Reshape {};

/// x + a learned row for each row of a sample. Parameters: the rows (rows, columns).
struct Places {};

/// A feature map with twice the side.
struct Enlarge {
  EnlargeKind kind = EnlargeKind::bicubic;
  MapSize map;  ///< of the input
};

/// The pixels of a feature map square by square, row by row of squares of `side` pixels a side, the
/// pixels of a square row by row; with `back` the input has that order and the result that of a
/// map.
struct Tiles {
  MapSize map;
  std::int64_t side = 1;
  bool back = false;
};

/// The mean, over the numbers of a sample, of their squared differences from those that it should
/// have.
struct SquareLoss {};

}  // namespace op
}  // namespace pptrain
