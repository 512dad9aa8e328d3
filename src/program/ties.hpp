#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/parts.hpp"
#include "program/passage.hpp"

namespace pptrain {

/// A parameter that several layers read: the table of tokens of an embedding and its output layer,
/// for one.
///
/// The rows of the parameter may be divided over a tensor-parallel group. Gradients are summed row
/// by row.
struct Tie {
  std::string name = {};                  ///< of the parameter
  std::vector<std::int64_t> layers = {};  ///< that read it, ascending: two or more
  std::string axis = {};  ///< along which its rows are divided, as in plans; "": every member has
                          ///< all
  std::int64_t rows = 0;
  double row_bytes = 0.0;  ///< of its gradient

  /// Bytes of the gradient of the whole parameter.
  double gradient_bytes() const { return static_cast<double>(rows) * row_bytes; }
  /// What a member of a mesh's tensor-parallel group has of that, evenly divided.
  double gradient_bytes(const Mesh& mesh) const {
    return axis.empty() ? gradient_bytes() : gradient_bytes() / mesh.tensor_parallel;
  }
  /// How many of the layers lie in these.
  int num_layers_in(const std::vector<Interval>& layers) const;
};

/// A part of a stage with layers that read a tied parameter: it has a copy of its own.
struct TieEnd {
  int tie = 0;  ///< by its place in the list of ties
  StageId stage;
  int part = 0;            ///< of the stage, as in `StageParts::all`
  std::int64_t layer = 0;  ///< the first one there that reads it

  bool operator==(const TieEnd&) const = default;
};

/// The ends of all ties that more than one part has, tie by tie, each tie's in the order of their
/// layers. Instructions about tied gradients number ends by their places here.
std::vector<TieEnd> tie_ends(const Plan& plan, const std::vector<Tie>& ties);

/// Whether two ends have copies of one parameter.
inline bool are_tied(const TieEnd& one, const TieEnd& other) {
  return one.tie == other.tie && !(one == other);
}

/// The rows that each member of a mesh's tensor-parallel group has.
std::vector<Interval> tie_division(const Mesh& mesh, const Tie& tie);
/// The replicas of each shard hold the same rows; where the members do not divide them, all devices
/// do.
std::vector<EqualCopies> tie_copies(const Mesh& mesh, const Tie& tie);

}  // namespace pptrain
