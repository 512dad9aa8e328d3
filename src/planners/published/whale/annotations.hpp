#pragma once

#include <string>
#include <vector>

#include "planners/published/whale/task_graphs.hpp"

namespace pptrain {

/// How annotated parts of the model lie on the devices.
enum class PartPlacement {
  pipeline,  ///< each on its own devices, a stage each
  shared,    ///< all on the same ones, blocks of one stage
};

/// An annotated interval of layers with the ones beside it that the planner may add.
struct AnnotatedPart {
  Interval layers;
  Primitive primitive = Primitive::replicate;
  int devices = 1;      ///< in one pipeline
  int first_begin = 0;  ///< it begins with this layer at the earliest
  int last_begin = 0;   ///< it begins with this layer at the latest
};

/// What the annotations ask for.
struct AnnotatedModel {
  std::vector<AnnotatedPart> parts;  ///< in layer order
  PartPlacement placement = PartPlacement::pipeline;
  int pipelines = 1;  ///< nested data parallelism

  /// Each part as a TaskGraph; those that share devices as one, where they are all replicated or
  /// all split.
  TaskGraphs task_graphs() const;
};

/// Reads the annotations, of which there is at least one. They share devices when they ask for more
/// than there are in all, or when `pipeline = 1` is fixed. Contradictions among them, with the
/// model, the cluster, the profile or the fixed degrees throw `Error` (exit code 2), `source` being
/// the place where a key has none of its own.
AnnotatedModel annotated_model(const Instance& instance, const Restrictions& restrictions,
                               const std::string& source);

}  // namespace pptrain
