#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "cost/cost.hpp"
#include "planners/ask/plan_rule.hpp"

namespace pptrain {

/// The plans that a planner makes.
enum class PlanScope {
  any,      ///< everything a plan can say
  uniform,  ///< uniform grids
};

/// What the configuration fixes; everything else is free.
struct Restrictions {
  AutoInt data;  ///< replicas of every stage, `context` times as many as the configuration's where
                 ///< samples are divided
  AutoInt pipeline;  ///< number of stages
  AutoInt tensor;    ///< tensor-parallel degree of every stage
  int context = 1;   ///< replicas that divide the positions of each sample; the plan's samples are
                     ///< then their shares
  AutoInt micro_batch_size;
  std::string schedule = "auto";
  AutoInt virtual_stages = 1;  ///< chunks per stage; what a schedule has in any case (two of zb-v)
                               ///< may stay 1
  int unit = 0;                ///< of ZeroPP; 0: chosen
  std::optional<Recompute> recompute = Recompute::none;  ///< of every stage; nothing: chosen by
                                                         ///< `auto`
  AutoInt zero_stage = 0;  ///< of every stage; nothing: chosen by `auto`
  /// Who divides what ZeRO divides; nothing: chosen by `auto`.
  std::optional<ZeroGroup> zero_group = ZeroGroup::replicas;
  /// Whether optimizer state may be offloaded; nothing: by `auto`, where the nodes have a link to
  /// their host.
  AutoFlag offload = false;
  AutoFlag offload_activations = false;  ///< whether what layers store may be offloaded
  Experts experts = Experts::columns;
  AutoInt expert;  ///< how many replicas divide the experts of each layer; nothing: chosen by
                   ///< `auto`
  std::vector<Annotation> annotations;  ///< Whale's primitives
  bool uneven_shares = false;           ///< whether replicas of a grid may share samples unevenly
  Effort effort = Effort::normal;       ///< of `auto`
  int threads = 0;  ///< on which `auto` searches, with the same result; 0: all cores of the process
  bool uniform = false;  ///< whether only uniform grids that divide everything evenly are wanted
  bool blocks = true;    ///< whether parts of a stage may be divided differently
  std::shared_ptr<const PlanRule> rule = {};  ///< null: none
  /// Place of each of these keys in messages ("data" -> "x.toml:12"), where it is known.
  std::map<std::string, std::string> places;

  /// Whether whole experts are asked for in place of columns of each; false where `auto` chooses.
  bool has_whole_experts() const { return experts == Experts::whole || experts == Experts::sent; }
  /// Whether replicas may divide the experts of a layer and send rows to one another.
  bool may_send_rows() const { return experts == Experts::sent || experts == Experts::chosen; }
  /// Whether replicas and members are to have equal shares.
  bool shares_evenly() const { return uniform || rule; }
  /// The place of a key, or `source` where it has none of its own.
  std::string place_of(const std::string& key, const std::string& source) const;
};

Restrictions restrictions_of(const Config& config);

/// The restrictions for plans `like` a trainer's: what the trainer has one choice of is fixed to
/// it, and `rule` leaves out what else it does not run. A key that is fixed to something else is
/// refused (`Error`, exit code 2) with `source` as the place where it has none of its own.
Restrictions as_trainer_runs(Restrictions restrictions, std::shared_ptr<const PlanRule> rule,
                             const std::string& source);

/// The restrictions for the planners of papers: what is free is what these have, so nothing is
/// recomputed or offloaded, ZeRO divides nothing, a stage is one chunk, no row is sent.
Restrictions as_in_papers(Restrictions restrictions);

/// The schedule that plans under these restrictions have: what they name, 1f1b for "auto", or
/// interleaved-1f1b where they ask for several chunks.
ScheduleChoice schedule_under(const Restrictions& restrictions);
/// Whether stages of this schedule may hold several chunks.
bool runs_chunks(const std::string& schedule);
/// Whether only searches over uniform grids make plans that obey them: the others plan for 1f1b and
/// gpipe, whose memory they know, for ZeRO over all replicas, and for stages of any shape.
bool plans_only_grids(const std::string& schedule, const Restrictions& restrictions);

/// Refuses (`Error`, exit code 2) restrictions that contradict each other or the instance, or that
/// leave no plan of this scope, whatever the memory. `source` is the place where a key has none of
/// its own.
void check_restrictions(const Instance& instance, const Restrictions& restrictions,
                        const std::string& source, PlanScope scope);
/// Refuses (`Error`, exit code 2) degrees that left a search no frame, where their product does not
/// divide the devices, and names the nearest ones that a grid of all devices has.
void check_found_none(const Instance& instance, const Restrictions& restrictions,
                      const std::string& source);

}  // namespace pptrain
