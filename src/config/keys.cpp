#include "config/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/layer_keys.hpp"
#include "config/planner_names.hpp"
#include "config/published_models.hpp"
#include "config/ranges.hpp"
#include "config/schedule_kinds.hpp"
#include "config/trainer_kinds.hpp"
#include "config/training_keys.hpp"

namespace pptrain {
namespace {

const NameTable<DeviceChoice> devices = {
    {DeviceChoice::any, "auto"}, {DeviceChoice::host, "host"}, {DeviceChoice::gpu, "gpu"}};
const NameTable<GpuTransport> gpu_transports = {
    {GpuTransport::any, "auto"}, {GpuTransport::nccl, "nccl"}, {GpuTransport::mpi, "mpi"}};
const NameTable<Primitive> primitives = {{Primitive::replicate, "replicate"},
                                         {Primitive::split, "split"}};
const NameTable<InitialWeights> initial_weights = {{InitialWeights::folder, "weights"},
                                                   {InitialWeights::random, "random"}};
const NameTable<std::optional<Recompute>> recomputes = or_nothing(recompute_names(), "auto");
const NameTable<std::optional<ZeroGroup>> zero_groups = {
    {std::nullopt, "auto"}, {ZeroGroup::replicas, "replicas"}, {ZeroGroup::node, "node"}};
const NameTable<Effort> efforts = {
    {Effort::quick, "quick"}, {Effort::normal, "normal"}, {Effort::thorough, "thorough"}};
const NameTable<ReplanWhen> replans = {{ReplanWhen::never, "never"},
                                       {ReplanWhen::on_drift, "on-drift"}};
const NameTable<AttentionRun> attentions = {{AttentionRun::as_runtime, "auto"},
                                            {AttentionRun::fused, "fused"},
                                            {AttentionRun::stored, "stored"},
                                            {AttentionRun::stored_dropout, "stored-dropout"}};

void visit(KeyVisitor& v, JobConfig& job) {
  v.text({"name", "Name of the job and of the folder of its runs."}, job.name);
  v.text({"output", "Folder below which runs leave their results: OUTPUT/NAME/START-TIME."},
         job.output);
  v.integer({"seed", "From it all random numbers follow: first weights, order of samples."},
            job.seed, {.least = 0, .most = 9007199254740992.0});
  v.seconds({"timeout",
             "How long a rank waits for a peer, in training or for a sign of it before, until the "
             "job ends with the reason."},
            job.timeout, positive("a peer needs some time to answer"));
  v.seconds({"time_limit",
             "The job ends with a checkpoint and exit code 75 before it has run for so long; \"0 "
             "s\": no limit."},
            job.time_limit, not_negative());
  visit_kind(v,
             {"device",
              "What a rank computes with; \"auto\": a GPU where the rank sees one, else the host."},
             job.device, devices);
  visit_kind(v,
             {"gpu_transport",
              "What carries sums between GPUs; \"auto\": NCCL where every rank of a group has a "
              "GPU of its own, else MPI."},
             job.gpu_transport, gpu_transports);
  v.flag({"cuda_graphs",
          "Whether calls to a GPU that repeat are recorded once and run as CUDA graphs."},
         job.cuda_graphs);
}

void visit(KeyVisitor& v, Annotation& annotation) {
  v.interval({"layers",
              "The first layer of the part and the one behind its last, numbered as in the chain."},
             annotation.layers);
  visit_kind(v,
             {"primitive",
              "Whale's primitive: \"replicate\": a replica of the part per device; \"split\": the "
              "part is divided over all "
              "of its devices."},
             annotation.primitive, primitives);
  v.integer({"devices", "How many devices the part gets; 0: the planner chooses."},
            annotation.devices, at_least(0));
}

void visit_annotations(KeyVisitor& v, ModelConfig& model) {
  model.annotate.resize(
      v.elements({"annotate",
                  "Parts of the model with one of Whale's primitives each; for the planner whale."},
                 model.annotate.size()));
  for (std::size_t i = 0; i < model.annotate.size(); ++i) {
    v.begin_element("annotate", i);
    visit(v, model.annotate[i]);
    v.end_element();
  }
}

void visit_initial(KeyVisitor& v, ModelConfig& model) {
  v.input_path({"initial_parameters",
                "An HDF5 file, such as a checkpoint, from whose /parameters the training starts; "
                "empty: random weights."},
               model.initial_parameters, "");
}

/// The tables of a chain come behind all other keys of [model].
void visit_chain(KeyVisitor& v, ModelConfig& model) {
  if (model.name == ModelConfig().name) model.name = "own-network";
  v.text({"name", "Any name."}, model.name);
  v.integer({"vocabulary_size", "Different tokens."}, model.vocabulary_size, at_least(1));
  visit_initial(v, model);
  for (std::size_t i = 0; i < model.layer.size(); ++i) {
    v.begin_element("layer", i);
    visit_layer(v, model.layer[i]);
    v.end_element();
  }
  visit_annotations(v, model);
}

constexpr const char* name_help =
    "\"gpt2\" and \"mlp-classifier\" have the dimensions below; models of published experiments "
    "(bert-large, ...) have "
    "their own; any other one is planned from a profile.";

void visit(KeyVisitor& v, ModelConfig& model) {
  if (model.published) {
    v.text({"name", name_help}, model.name);
    return visit_annotations(v, model);
  }
  model.layer.resize(v.elements(
      {"layer",
       "The layers of a network of your own, in their order: in place of `from` and dimensions."},
      model.layer.size()));
  if (!model.layer.empty()) return visit_chain(v, model);
  v.input_path({"from",
                "A folder with config.json, as Hugging Face's libraries write it: the model is the "
                "one that it describes; "
                "empty: `name` and the dimensions below say which."},
               model.from, "");
  if (!model.from.empty()) {
    visit_kind(v,
               {"initial",
                "What training starts from: the \"weights\" in the folder, or \"random\" ones."},
               model.initial, initial_weights);
    v.integer({"image_size",
               "Height and width in pixels of images that a network of convolutions reads, whose "
               "config.json does not "
               "say it; 0: the folder's, or 224."},
              model.image_size, between(0, 16384));
    visit_annotations(v, model);
    return;
  }
  v.text({"name", name_help}, model.name);
  if (const PublishedModel* published = published_model(model.name)) {
    take_published(*published, model);
    return visit_annotations(v, model);
  }
  v.integer({"layers", "Blocks of a transformer, or dense layers of a classifier's features."},
            model.layers, between(1, 65536));
  v.integer({"hidden_size", "Width of a layer."}, model.hidden_size, between(1, 1048576));
  if (model.is_classifier()) {
    v.integer({"input_size", "Numbers in a sample."}, model.input_size, between(1, 1048576));
    v.integer({"classes", "Classes that samples belong to."}, model.classes, between(2, 100000));
  } else {
    v.integer({"heads", "Attention heads of a block; they divide hidden_size."}, model.heads,
              at_least(1));
    v.integer({"vocabulary_size", "Different tokens."}, model.vocabulary_size, at_least(1));
    v.flag({"tied", "Whether the output layer shares the weights of the token embedding."},
           model.tied);
  }
  visit_initial(v, model);
  visit_annotations(v, model);
}

void visit(KeyVisitor& v, ParallelismConfig& parallelism) {
  v.integer_or_auto(
      {"data",
       "Replicas of each stage. Like all of this section \"auto\" leaves it to the planner."},
      parallelism.data, at_least(1));
  v.integer_or_auto({"pipeline", "Stages of the pipeline."}, parallelism.pipeline, at_least(1));
  v.integer_or_auto({"tensor", "Devices that share each layer."}, parallelism.tensor, at_least(1));
  v.integer({"context",
             "Context parallelism: how many replicas divide the positions of each sample and pass "
             "keys and values "
             "round. pptrain itself divides none: with `like` another trainer alone, whose times "
             "and memory count it."},
            parallelism.context, at_least(1));
  std::vector<std::string> schedules = schedule_names();
  std::rotate(schedules.begin(), schedules.end() - 1, schedules.end());  // "auto" first
  v.name({"schedule", "The order of tasks."}, parallelism.schedule, schedules);
  v.integer_or_auto(
      {"virtual_stages",
       "Chunks of layers per stage, of interleaved-1f1b, breadth-first, zeropp and auto."},
      parallelism.virtual_stages, at_least(1));
  v.integer({"unit", "Micro-batches of a scheduling unit of zeropp; 0: chosen."}, parallelism.unit,
            at_least(0));
  visit_kind(v,
             {"recompute",
              "What is computed again in the backward pass instead of being stored: nothing, what "
              "attention makes, or "
              "whole layers."},
             parallelism.recompute, recomputes);
  v.integer_or_auto({"zero_stage",
                     "What replicas divide among themselves: 1: optimizer state, 2: gradients too, "
                     "3: weights too."},
                    parallelism.zero_stage, between(0, 3));
  visit_kind(v,
             {"zero_group",
              "Whether all replicas of a stage divide it, or those of each node, with all of it on "
              "every node (HSDP)."},
             parallelism.zero_group, zero_groups);
  v.flag_or_auto({"offload",
                  "Whether planners may keep the optimizer state in the host's memory; \"auto\": "
                  "planner auto may, on a "
                  "cluster whose nodes have a host_link."},
                 parallelism.offload);
  v.flag_or_auto({"offload_activations",
                  "Whether planners may keep what layers store from F to B in the host's memory; "
                  "\"auto\" as for offload."},
                 parallelism.offload_activations);
  visit_kind(v,
             {"experts",
              "What members of a tensor-parallel group have of a model's experts: columns of each, "
              "or \"whole\" ones where "
              "their number can be divided evenly; with \"all-to-all\" planner auto may divide "
              "whole experts over replicas "
              "too, which send rows to those that have their experts. \"auto\": columns, or "
              "\"all-to-all\" where that is "
              "faster."},
             parallelism.experts, experts_names());
  v.integer_or_auto({"expert",
                     "With planner auto and experts = \"all-to-all\" or \"auto\": how many "
                     "replicas divide the experts of a layer "
                     "between them; \"auto\": as many as are fastest, or none."},
                    parallelism.expert, at_least(2));
  v.input_path({"plan", "A PLAN.json to run as it is; empty: the planner makes one."},
               parallelism.plan, "");
  std::vector<std::string> trainers = trainer_names();
  trainers.insert(trainers.begin(), ParallelismConfig().like);
  v.name({"like",
          "Whose plans are wanted: with another trainer than pptrain, planner auto looks only for "
          "plans that it runs and "
          "`pptrain export-plan --for` writes for it, and computed times and memory are those of "
          "its execution."},
         parallelism.like, trainers);
}

const std::vector<std::string>& planner_names() {
#define PPTRAIN_PLANNER_NAME(identifier, name) name,
  static const std::vector<std::string> names = {
      "auto", "uniform", PPTRAIN_FOR_EACH_PLANNER(PPTRAIN_PLANNER_NAME) "all"};
#undef PPTRAIN_PLANNER_NAME
  return names;
}

void visit(KeyVisitor& v, PlannerConfig& planner) {
  v.name({"name",
          "The planner; \"all\" is \"auto\" with the plans of all others beside it, \"uniform\" is "
          "\"auto\" for stages "
          "that are alike and divide everything evenly, as other trainers need them."},
         planner.name, planner_names());
  v.seconds({"time_limit", "The search ends after it with the best plan so far."},
            planner.time_limit, positive("a search needs some time"));
  visit_kind(v,
             {"effort",
              "How much planner auto may simulate: \"quick\" about a tenth of \"normal\", "
              "\"thorough\" twenty times."},
             planner.effort, efforts);
  visit_kind(v,
             {"objective",
              "What the plan is to make small: the time of a step, the money for it, or the "
              "product of both. Money needs "
              "prices of all nodes; nodes that do not pay are left out."},
             planner.objective, objective_names());
  v.number_or({"max_cost",
               "The most money that the training of `--tokens` may cost, or 10^9 tokens where no "
               "number is asked for."},
              planner.max_cost, "none", positive());
  v.number_or({"min_tokens_per_second", "The least speed that a plan may have."},
              planner.min_tokens_per_second, "none", positive());
  v.number_or({"checkpoint_time",
               "Seconds that writing a checkpoint takes; \"auto\": the bytes of the training state "
               "over the cluster's "
               "storage_bandwidth."},
              planner.checkpoint_time, "auto", positive());
  v.number_or({"restart_time",
               "Seconds from a failure until the job trains again; \"auto\": as long as a "
               "checkpoint takes."},
              planner.restart_time, "auto", not_negative());
  v.integer({"trials",
             "How many of the best plans run some real iterations before one is chosen; 0: none."},
            planner.trials, at_least(0));
  v.integer({"trial_steps", "Iterations of a trial, the first of which only warms up."},
            planner.trial_steps, at_least(1));
  v.number({"drift_factor",
            "A rank that computes this many times as long as expected has fallen behind."},
           planner.drift_factor, above_one("it is a slowdown"));
  v.integer({"drift_window", "Steps over which that is measured."}, planner.drift_window,
            at_least(1));
  visit_kind(
      v,
      {"replan",
       "Whether the job is planned anew, and goes on in memory, when a rank has fallen behind."},
      planner.replan, replans);
}

void visit(KeyVisitor& v, ClusterConfig& cluster) {
  v.input_path({"file",
                "A CLUSTER.toml, or nodes as `--cluster` takes them (\"2x dgx-h100\"); "
                "\"discover\": the machine is measured."},
               cluster.file, "discover");
}

void visit(KeyVisitor& v, ProfileConfig& profile) {
  v.input_path({"file", "A PROFILE.json instead of measuring; empty: none."}, profile.file, "");
  v.flag({"cache",
          "Whether times that were measured for the same layers on the same machine are taken from "
          "the cache."},
         profile.cache);
  v.flag({"analytic",
          "Whether times are computed from FLOP, bytes and the cluster's rates instead of being "
          "measured."},
         profile.analytic);
  v.name({"like",
          "Whose execution an analytic profile predicts: pptrain's own, or that of a framework, by "
          "what it fuses, keeps, "
          "sends and hides (docs/profiles.md)."},
         profile.like,
         {"pptrain", "megatron", "megatron-deepspeed", "deepspeed", "fsdp", "torchtitan",
          "transformers", "nanotron", "oneflow", "jax", "llm.c"});
  visit_kind(v,
             {"attention",
              "How attention of an analytic profile runs: \"fused\" tile by tile, or with "
              "\"stored\" scores, of which "
              "\"stored-dropout\" drops some; \"auto\": as the runtime of `like` has it."},
             profile.attention, attentions);
  v.flag({"sequence_parallel",
          "Whether members of a tensor-parallel group of the runtime of `like` also divide norms "
          "and residual sums, by "
          "positions."},
         profile.sequence_parallel);
}

void visit(KeyVisitor& v, CheckpointConfig& checkpoint) {
  v.integer({"interval",
             "Steps from one checkpoint to the next; 0: only at the end, and when the job is asked "
             "to stop."},
            checkpoint.interval, at_least(0));
  v.flag({"at_end",
          "Whether the job ends with a checkpoint, from which `pptrain generate`, `export` and "
          "`--resume` go on. Its size "
          "is said before the first step."},
         checkpoint.at_end);
  v.integer({"keep", "How many of the newest checkpoints of the run stay."}, checkpoint.keep,
            at_least(1));
}

void visit(KeyVisitor& v, MetricsConfig& metrics) {
  v.integer({"interval", "Steps from one row of metrics.h5 to the next."}, metrics.interval,
            at_least(1));
  v.integer(
      {"evaluation_interval", "Steps from one evaluation on data.validation to the next; 0: none."},
      metrics.evaluation_interval, at_least(0));
  v.integer({"evaluation_batches",
             "Global batches from the start of data.validation that an evaluation takes at most; "
             "0: all of it, the last "
             "batch filled in part."},
            metrics.evaluation_batches, at_least(0));
  v.flag(
      {"trace", "Whether trace.json is written: what every device did when in the last iteration."},
      metrics.trace);
  v.texts({"sample_prompts",
           "Texts that the model continues at each evaluation, by its likeliest 32 tokens; not "
           "where ZeRO stage 3 "
           "spreads the weights over replicas."},
          metrics.sample_prompts);
}

template <class Section, class... More>
void visit_section(KeyVisitor& v, const Key& key, Section& section, const More&... more) {
  v.begin_section(key);
  visit(v, section, more...);
  v.end_section();
}

}  // namespace

bool Range::contains(double value) const {
  const bool low = least_open ? value <= least : value < least;
  const bool high = most_open ? value >= most : value > most;
  return std::isfinite(value) && !low && !high;
}

std::string Range::describe() const {
  const std::string low = fmt::format("{} {:.16g}", least_open ? "more than" : "at least", least);
  const std::string high = fmt::format("{} {:.16g}", most_open ? "less than" : "at most", most);
  if (!std::isfinite(most) || most >= max_count) return low;
  return std::isfinite(least) ? low + " and " + high : high;
}

void visit_keys(KeyVisitor& visitor, Config& config) {
  visit_section(visitor, {"job", "The job: its name, results, time and devices."}, config.job);
  visit_section(visitor, {"model", "What is trained."}, config.model);
  visit_section(visitor, {"data", "What it is trained on."}, config.data, config.model);
  visit_section(visitor, {"training", "How long, in which batches and in what precision."},
                config.training, config.model);
  visit_section(visitor, {"optimizer", "How weights follow from gradients."}, config.optimizer);
  visit_section(visitor, {"lr_scheduler", "How the learning rate changes."}, config.lr_scheduler);
  visit_section(
      visitor,
      {"parallelism", "How model and batch are divided: what the planner may not choose itself."},
      config.parallelism);
  visit_section(visitor, {"cluster", "What it runs on."}, config.cluster);
  visit_section(visitor, {"planner", "How the plan is searched."}, config.planner);
  visit_section(visitor, {"profile", "Where the times of layers come from."}, config.profile);
  visit_section(visitor, {"checkpoint", "When the state is saved."}, config.checkpoint);
  visit_section(visitor, {"metrics", "What is recorded."}, config.metrics);
}

}  // namespace pptrain
