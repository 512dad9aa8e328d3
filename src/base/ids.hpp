#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace pptrain {

/// An integer that cannot be mistaken for another kind of integer.
template <class Tag>
struct Id {
  int value = -1;

  constexpr Id() = default;
  constexpr explicit Id(int v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  /// Whether it is the id of anything; one that nobody has set is not.
  constexpr bool valid() const { return value >= 0; }
  /// The id as an index of a vector; it must be valid.
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using RankId = Id<struct RankTag>;              ///< process of the job, MPI_COMM_WORLD order
using DeviceId = Id<struct DeviceTag>;          ///< device of the cluster, in file order
using StageId = Id<struct StageTag>;            ///< stage of a plan
using LayerId = Id<struct LayerTag>;            ///< layer of the model's chain
using ChunkId = Id<struct ChunkTag>;            ///< virtual stage, numbered globally in layer order
using MicroBatchId = Id<struct MicroBatchTag>;  ///< micro-batch of an iteration

}  // namespace pptrain

template <class Tag>
struct std::hash<pptrain::Id<Tag>> {
  std::size_t operator()(pptrain::Id<Tag> id) const noexcept { return std::hash<int>()(id.value); }
};
