#include "plan/keys.hpp"

namespace pptrain::plan_keys {
namespace {

const std::string seconds = "seconds";
const std::string count = "integer, at least 1";
const std::string intervals = "array of intervals";

const KeyDescription shards = {"shards", "object: arrays of intervals", "even",
                               "Shares of the tensor-parallel members where they are not even: an "
                               "interval per member for each of the profile's "
                               "axes. With `experts` a member has those experts whole; without, it "
                               "has columns of every expert."};

}  // namespace

const KeyTable root = {
    "the document",
    "An interval is `[first, last + 1]`. What a planner adds for people (`predicted`, `search`, "
    "`alternatives`) may be "
    "left out, and nothing is decided by it.",
    {{"schema", "`\"pptrain.plan/1\"`", "", "What the file is."},
     {"planner", "text", "not said", "Which planner made it."},
     {"model", "text", "not said", "Name of the model."},
     {"cluster", "text", "not said", "Name of the cluster."},
     {"device_kinds", "array of objects", "not checked",
      "All devices of that cluster, in order, as runs of one kind."},
     {"global_batch_size", count, "", "Samples of a step: `micro_batch_size` x `micro_batches`."},
     {"micro_batch_size", count, "", "Samples that enter the pipeline together."},
     {"micro_batches", count, "", "How often they do in a step."},
     {"context", count, "1",
      "Replicas that divide the positions of each sample (context parallelism). A sample of the "
      "plan is then the share "
      "of one replica, and shares of one sample are on replicas that follow one another."},
     {"schedule", "object", "", "The order of tasks."},
     {"stages", "array of objects", "", "Who holds what."},
     {"predicted", "object", "none", "What is predicted of the plan."},
     {"search", "object", "none", "How it was found."},
     {"alternatives", "array of objects", "none",
      "The best plan of each other planner, and plans of trials."}}};

const KeyTable device_kind = {"device_kinds[]",
                              "",
                              {{"kind", "text", "", "Kind of device."},
                               {"count", count, "", "How many of them follow one another."}}};

const KeyTable schedule = {
    "schedule",
    "",
    {{"name", "text", "", "A schedule that pptrain knows."},
     {"virtual_stages", count, "1", "Chunks of layers per stage."},
     {"unit", "integer, at least 0", "0: chosen", "Micro-batches of a unit of zeropp."}}};

const KeyTable stage = {
    "stages[]",
    "Layers held by replicas of a tensor-parallel group.",
    {{"layers", intervals, "", "Its layers, an interval per chunk."},
     {"replicas", count, "", "Equal copies of the stage, which compute different samples."},
     {"tensor_parallel", count, "", "Devices that share each layer of a replica."},
     {"devices", "array of arrays of integers", "",
      "A row per replica, a device per tensor-parallel member."},
     {"samples", intervals, "", "Which samples of a micro-batch each replica computes."},
     shards,
     {"recompute", "`\"none\"`, `\"selective\"` or `\"full\"`", "\"none\"",
      "What is computed again in the backward pass instead of being stored."},
     {"zero_stage", "integer, 0 to 3", "0",
      "What replicas divide among themselves: 1: optimizer state, 2: gradients too, 3: weights "
      "too."},
     {"zero_groups", intervals, "one of all replicas",
      "Runs of replicas that divide it, each all of it."},
     {"zero_slices", intervals, "equal ones",
      "The slice of it that each replica holds, of a whole that ends with the last one; without "
      "`zero_groups`."},
     {"offload", "true or false", "false",
      "Whether the optimizer state is kept in the host's memory."},
     {"offload_activations", "true or false", "false",
      "Whether what layers store from F to B is kept in the host's memory."},
     {"blocks", "array of objects", "none",
      "Parts of its layers that are divided differently over the same devices."}}};

const KeyTable block = {
    "stages[].blocks[]",
    "",
    {{"layers", "interval", "", "Its layers."},
     {"replicas", count, "", "As of a stage."},
     {"tensor_parallel", count, "", "As of a stage."},
     {"pattern", "`\"replicate\"`, `\"megatron\"`, `\"sp1\"`, `\"sp2\"` or `\"all-to-all\"`", "",
      "How members share a layer. With `\"all-to-all\"` each keeps samples of its own and sends "
      "rows to the members "
      "that have their experts; `samples` then has an interval for each member, `shards` the axis "
      "`experts`."},
     {"samples", intervals, "", "As of a stage."},
     shards}};

const KeyTable predicted = {
    "predicted",
    "",
    {{"basis", "`\"simulation\"` or `\"estimate\"`", "\"estimate\"",
      "Where iteration, bubble and peaks are from."},
     {"iteration_seconds", seconds, "", "Time of a step."},
     {"estimate_seconds", seconds, "", "By the larger of the closed forms."},
     {"estimates", "object: seconds", "", "By each closed form: `amp`, `dapple`."},
     {"lower_bound_seconds", seconds, "", "No plan for the same job is faster."},
     {"bubble_fraction", "number", "",
      "1 - time in which devices compute / (devices x iteration)."},
     {"parts", "object", "none", "Where the time of the `amp` estimate goes."},
     {"stage_seconds", "array of seconds", "none",
      "Time of one micro-batch on each stage, forward and backward."},
     {"peak_bytes", "array of bytes", "", "Most memory in use, per device of the cluster."},
     {"error_band", "object", "none",
      "How far predictions of measured runs like this one were off."},
     {"like", "text", "pptrain itself",
      "The framework whose execution is predicted (`[parallelism] like`)."},
     {"speed", "object", "none", "What the iteration comes to, for those who compare."},
     {"kinds", "array of objects", "none",
      "What devices of each kind do, as the cluster's file lists kinds."},
     {"cost", "object", "none", "What the nodes that the plan uses cost."},
     {"failures", "object", "none", "What failures leave of a training."}}};

const KeyTable error_band = {
    "predicted.error_band",
    "",
    {{"relative", "number", "", "Mean of |predicted / measured - 1| of these runs."},
     {"runs", "integer, at least 1", "", "How many there are."},
     {"of", "text", "", "What they have in common with what is predicted."}}};

const KeyTable parts = {
    "predicted.parts",
    "They add up to the `amp` estimate.",
    {{"compute_seconds", seconds, "", "Of all micro-batches on the slowest stage."},
     {"bubble_seconds", seconds, "", "The pipeline fills and drains."},
     {"pipeline_communication_seconds", seconds, "", "From stage to stage."},
     {"tensor_communication_seconds", seconds, "", "Within tensor-parallel groups."},
     {"parameter_gather_seconds", seconds, "", "Weights that ZeRO stage 3 gathers."},
     {"gradient_synchronization_seconds", seconds, "", "The longest sum over replicas."}}};

const KeyTable speed = {
    "predicted.speed",
    "Model FLOP are those of forward and backward, without what is computed again.",
    {{"samples_per_second", "number", "", "Global batch / iteration."},
     {"tokens_per_second", "number", "not known", "The same in tokens."},
     {"model_flops_from", "`\"layers\"` or `\"parameters\"`", "not known",
      "Whether model FLOP are those of the layers' operators, or 6 x parameters x tokens."},
     {"flop_per_second", "number", "not known",
      "Model FLOP per second of each device that the plan uses."},
     {"precision", "text", "not known", "Precision of the job, whose peak rates count."},
     {"model_flops_utilization", "number", "not known",
      "Model FLOP per second over the peak of the devices that the plan uses, 0 to 1."},
     {"training_tokens", "number", "none", "Tokens of a training, as `--tokens` says."},
     {"training_seconds", seconds, "none", "How long they take."}}};

const KeyTable cost = {
    "predicted.cost",
    "A node counts as a whole where the plan uses one of its devices. Money is in the cluster's "
    "`currency`, and has "
    "what failures cost where `predicted.failures` is there.",
    {{"nodes", "integer, at least 0", "", "Nodes that the plan uses."},
     {"objective", "`\"time\"`, `\"cost\"` or `\"time-cost\"`", "", "What the search made small."},
     {"currency", "text", "no prices", "Currency of all that follows."},
     {"money_per_hour", "number", "not known", "Price of these nodes."},
     {"egress_per_step", "number", "0", "Price of what leaves switches in a step."},
     {"money_per_step", "number", "not known", "Price of a step."},
     {"money_per_billion_tokens", "number", "not known", "Price of 10^9 tokens."},
     {"watts", "number", "not known", "What these nodes take at full load."},
     {"training", "object", "none", "A training on the tokens that `--tokens` says."}}};

const KeyTable training = {
    "predicted.cost.training",
    "",
    {{"tokens", "number", "", "How many it sees."},
     {"seconds", seconds, "", "How long it takes, with what failures cost where that is known."},
     {"node_hours", "number", "", "The same times the nodes that the plan uses."},
     {"money", "number", "not known", "Its price."},
     {"kilowatt_hours", "number", "not known", "Its energy, at full load."}}};

const KeyTable failures = {
    "predicted.failures",
    "",
    {{"mtbf_seconds", seconds, "", "Mean time between failures of the nodes that the plan uses."},
     {"checkpoint_seconds", seconds, "", "How long writing a checkpoint takes."},
     {"restart_seconds", seconds, "", "From a failure until the job trains again."},
     {"interval_seconds", seconds, "", "Training between two checkpoints that loses least."},
     {"interval_steps", "integer", "", "The same in steps."},
     {"goodput", "number", "", "Part of the time that training goes on in, 0 to 1."}}};

const KeyTable kind_prediction = {
    "predicted.kinds[]",
    "Shares of the iteration, 0 to 1, are means over the devices that the plan uses.",
    {{"kind", "text", "", "Kind of device."},
     {"devices", "integer, at least 1", "", "How many the cluster has."},
     {"used", "integer, at least 0", "", "How many of them the plan uses."},
     {"memory_bytes", "bytes", "", "Memory of one that plans may use."},
     {"reserve_bytes", "bytes", "", "Memory of one that drivers and libraries take beside."},
     {"computing", "number", "none is used", "Share of the iteration in which they compute."},
     {"waiting", "number", "not simulated",
      "Share in which they wait for data that are under way."},
     {"idle", "number", "none is used", "The rest."},
     {"flop_per_second", "number", "not known", "Model FLOP per second of one."},
     {"peak_flop_per_second", "number", "not known",
      "Its peak in the job's precision, by the cluster's file."},
     {"model_flops_utilization", "number", "not known", "The former over the latter, 0 to 1."}}};

const KeyTable search = {
    "search",
    "",
    {{"candidates", "integer, at least 0", "", "Plans that were looked at."},
     {"seconds", seconds, "", "How long the search took."},
     {"complete", "true or false", "true",
      "Whether no plan that the search leaves out can be faster; else more effort may find one."},
     {"schedules", "array of objects", "none", "The same stages in the order of other schedules."},
     {"rank_correlations", "object", "none",
      "How well closed forms rank plans; with `--correlation`."}}};

const KeyTable schedule_alternative = {
    "search.schedules[]",
    "",
    {{"schedule", "object", "", "As `schedule` above."},
     {"iteration_seconds", "seconds or null", "", "Time of a step; null: it does not fit."},
     {"why_not", "text", "", "What does not fit."}}};

const KeyTable rank_correlations = {
    "search.rank_correlations",
    "",
    {{"plans", "integer, at least 0", "", "Plans that were compared."},
     {"forms", "object: numbers", "",
      "Spearman's coefficient of each closed form and the simulator."}}};

const KeyTable alternative = {
    "alternatives[]",
    "",
    {{"planner", "text", "", "Which planner made it; `trial`: it was run."},
     {"iteration_seconds", "seconds or null", "", "Time of a step as predicted; null: no plan."},
     {"feasible", "true or false", "", "Whether it fits."},
     {"why_not", "text", "", "What it lacks, or why it is slower."},
     {"measured_seconds", seconds, "not run", "Time of a step in a trial."}}};

std::vector<KeyTable> all() {
  return {root,
          device_kind,
          schedule,
          stage,
          block,
          predicted,
          error_band,
          parts,
          speed,
          kind_prediction,
          cost,
          training,
          failures,
          search,
          schedule_alternative,
          rank_correlations,
          alternative};
}

}  // namespace pptrain::plan_keys
