#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/bodies/math.hpp"
#include "kernels/bodies/row_team.hpp"
#include "kernels/targets.hpp"

/// The parts of the vocabulary-parallel cross-entropy (Megatron-LM, arXiv:1909.08053, section 3).
namespace pptrain::kernels::bodies {

/// Where the targets of the rows lie in the columns of this vocabulary shard.
struct ShardTargets : Targets {
  std::size_t columns;

  /// Whether the row has a target: one below 0 is none.
  PPTRAIN_FUNCTION bool is_labelled(std::size_t row) const { return classes[row] >= 0; }
  /// The column of the row's target, or -1 where another shard has it.
  PPTRAIN_FUNCTION std::int64_t column(std::size_t row) const {
    const std::int64_t c = static_cast<std::int64_t>(classes[row]) - first_class;
    return c >= 0 && c < static_cast<std::int64_t>(columns) ? c : -1;
  }
};

/// x = cap tanh(x / cap).
template <class T>
struct SoftCap {
  Rows<T> x;
  float cap;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    T* values = x.row(row);
    const float most = cap;
    team.for_each(columns, [=](std::size_t c) {
      store(values[c], soft_cap(static_cast<float>(values[c]), most).value);
    });
  }
};

template <class T>
struct CrossEntropyMax {
  Rows<const T> logits;
  float* row_max;
  std::size_t columns;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* l = logits.row(row);
    const float most = team.max(columns, [=](std::size_t c) { return static_cast<float>(l[c]); });
    team.once([&] { row_max[row] = most; });
  }
};

/// The row sum of a row without target is infinite, which no sum is: its gradient becomes 0, its
/// loss is left out.
template <class T>
struct CrossEntropySum {
  Rows<const T> logits;
  ShardTargets targets;
  const float* row_max;
  float *row_sum, *target_logit;

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    const T* l = logits.row(row);
    const float most = row_max[row];
    const float total = team.sum(
        targets.columns, [=](std::size_t c) { return fast_exp(static_cast<float>(l[c]) - most); });
    const float all =
        targets.uniform == 0.0f
            ? 0.0f
            : team.sum(targets.columns, [=](std::size_t c) { return static_cast<float>(l[c]); });
    team.once([&] { finish(row, total, all); });
  }

  PPTRAIN_FUNCTION float sum_of(std::size_t row, float total) const {
    return targets.is_labelled(row) ? total : __builtin_huge_valf();
  }
  /// Writes what part 2 yields of the row, from the sums of exp(logit - max) and of the logits.
  PPTRAIN_FUNCTION void finish(std::size_t row, float total, float all) const {
    const std::int64_t target = targets.column(row);
    row_sum[row] = sum_of(row, total);
    const float of_class =
        target >= 0 ? targets.own * static_cast<float>(logits.row(row)[target]) : 0.0f;
    target_logit[row] = of_class + targets.uniform * all;
  }
};

/// The gradient of one row's logits: what all of its elements share, and of each what follows from
/// its logit.
struct RowGradient {
  float most, factor, own, uniform, inverse_cap;
  std::int64_t hit;  ///< the column of the target, or -1

  /// The gradient of a logit in another column than `hit`, or with `own` what is there.
  PPTRAIN_FUNCTION float operator()(float logit, float subtracted) const {
    return fast_exp(logit - most) * factor - subtracted;
  }
  /// d (cap tanh(x / cap)) / dx from the logit that is held within the cap.
  PPTRAIN_FUNCTION float of_cap(float logit) const {
    const float part = logit * inverse_cap;
    return 1.0f - part * part;
  }
};

template <class T>
struct CrossEntropyGradient {
  Rows<T> logits;
  ShardTargets targets;
  const float *row_max, *row_sum;
  LossGradient gradient;

  PPTRAIN_FUNCTION RowGradient of_row(std::size_t row) const {
    return of_row(row, row_max[row], row_sum[row]);
  }
  PPTRAIN_FUNCTION RowGradient of_row(std::size_t row, float most, float sum) const {
    const float scale = gradient.scale, z_loss = gradient.z_loss;
    const bool has_z_loss = z_loss != 0.0f && targets.is_labelled(row);
    const float of_softmax =
        has_z_loss ? scale * (1.0f + 2.0f * z_loss * (std::log(sum) + most)) : scale;
    const float uniform = targets.is_labelled(row) ? targets.uniform * scale : 0.0f;
    return {most,
            of_softmax / sum,
            targets.own * scale,
            uniform,
            gradient.cap > 0.0f ? 1.0f / gradient.cap : 0.0f,
            targets.column(row)};
  }

  template <class Team>
  PPTRAIN_FUNCTION void operator()(const Team& team, std::size_t row) const {
    T* l = logits.row(row);
    const RowGradient of = of_row(row);
    const float own = of.own, uniform = of.uniform;
    const auto hit = static_cast<std::size_t>(of.hit);
    if (gradient.cap > 0.0f) {
      return team.for_each(targets.columns, [=](std::size_t c) {
        const float logit = static_cast<float>(l[c]);
        store(l[c], of(logit, c == hit ? own + uniform : uniform) * of.of_cap(logit));
      });
    }
    if constexpr (sizeof(T) == sizeof(float)) {
      team.for_each(targets.columns, [=](std::size_t c) { l[c] = of(l[c], uniform); });
      team.once([&] {
        if (of.hit >= 0) l[of.hit] -= own;
      });
    } else {
      // Subtracted before it is rounded: near 1, a narrow type has few digits for the difference
      // to 1.
      team.for_each(targets.columns, [=](std::size_t c) {
        store(l[c], of(static_cast<float>(l[c]), c == hit ? own + uniform : uniform));
      });
    }
  }
};

}  // namespace pptrain::kernels::bodies
