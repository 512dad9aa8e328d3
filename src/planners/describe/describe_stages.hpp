#pragma once

#include <cstddef>
#include <string>

#include "cluster/cluster.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// `brief`: stages that follow one another and are equal share a row, and what all stages have in
/// common is not said; `full`: a row for each stage, with all that is known of it.
enum class StageDetail { brief, full };

/// The plan as a table: which layers, shape, samples, time of forward and backward of a
/// micro-batch, memory and devices. Of more than `most_rows` rows those in front of the last one
/// are left out, and a row says so.
std::string stages_text(const Plan& plan, const Cluster& cluster, StageDetail detail,
                        std::size_t most_rows);

/// What every stage does beside holding its layers, ", ZeRO 3 (FSDP), recompute full"; "" where
/// stages differ in it.
std::string common_choices_text(const Plan& plan);

/// Devices of the cluster that no stage uses; empty when there are none.
std::string unused_text(const Plan& plan, const Cluster& cluster);

}  // namespace pptrain
