#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"

namespace pptrain {

/// The kinds of a cluster's devices in order.
std::vector<KindRun> kind_runs(const Cluster& cluster);

/// Refuses (`Error`, exit code 2) a plan whose shards do not cover an axis of the model, or leave a
/// member without any. Axes that are not named are not looked at.
void check_plan_shards(const Plan& plan, const std::map<std::string, std::int64_t>& axes,
                       const std::string& source);

/// Refuses (`Error`, exit code 2) a plan that was made for another number of devices, or for
/// devices of other kinds. One that does not say for which is for those from 0 to the last one that
/// it uses.
void check_plan_devices(const Plan& plan, const Cluster& cluster, const std::string& source);

/// Refuses (`Error`, exit code 2) a plan that divides positions of samples between another number
/// of replicas than the job, whose `context` is given: 1 wherever pptrain itself trains.
void check_plan_context(const Plan& plan, std::int64_t context, const std::string& source);

/// Refuses (`Error`, exit code 2) a plan that does not divide this model: layers, axes of the
/// model.
void check_plan_model(const Plan& plan, const Model& model, const std::string& source);

/// Refuses (`Error`, exit code 2) a plan that was not made for this job, saying what differs:
/// devices, layers, axes of the model, the global batch.
void check_plan_matches(const Plan& plan, const Model& model, const Cluster& cluster,
                        std::int64_t global_batch_size, const std::string& source);

}  // namespace pptrain
