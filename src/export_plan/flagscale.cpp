// Configuration of FlagScale. Names and forms are those of flagscale/train/arguments.py, of the
// runner in flagscale/runner, which makes Megatron-LM's options of a YAML file's keys, and of
// flagscale/train/hetero.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"
#include "export_plan/flagscale_meshes.hpp"
#include "export_plan/grid.hpp"
#include "export_plan/launch.hpp"
#include "export_plan/megatron_model.hpp"
#include "export_plan/page.hpp"
#include "export_plan/trainers.hpp"

namespace pptrain {
namespace {

/// The ZeRO stage of a plan's stages with several replicas; 0 where all have one.
int zero_stage_of(const Plan& plan) {
  const auto several = [](const Stage& stage) { return stage.replicas > 1; };
  const auto stage = std::find_if(plan.stages.begin(), plan.stages.end(), several);
  return stage == plan.stages.end() ? 0 : stage->zero_stage;
}

/// Why a process mesh cannot be of a stage.
PossibleMisfit mesh_misfit(const ExportedPlan& exported, const TrainerKind& trainer, int number) {
  const Stage& stage = exported.plan.stages[static_cast<std::size_t>(number)];
  if (auto found = heads_misfit(exported.shape, stage.tensor_parallel, trainer)) return found;
  if (stage.replicas > 1 && stage.zero_stage != zero_stage_of(exported.plan))
    return Misfit{fmt::format("ZeRO stage {} on stage {}, and another one on others",
                              stage.zero_stage, number),
                  trainer.why_zero};
  const std::string& kind = exported.cluster.kind_of(stage.devices.front().front()).name;
  for (const auto& row : stage.devices) {
    for (const DeviceId device : row) {
      const std::string& other = exported.cluster.kind_of(device).name;
      if (other == kind) continue;
      return Misfit{fmt::format("stage {} has devices of kinds {} and {}", number, kind, other),
                    "a process mesh of FlagScale has one"};
    }
  }
  return std::nullopt;
}

/// Why FlagScale's runner cannot number the processes: it gives those of a host ranks that follow
/// one another.
PossibleMisfit hosts_misfit(const ExportedPlan& exported) {
  const std::vector<ExportRank> ranks = launch_order(exported.plan, exported.cluster).ranks;
  std::set<int> ended;
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r].node == ranks[r - 1].node) continue;
    ended.insert(ranks[r - 1].node);
    if (!ended.contains(ranks[r].node)) continue;
    return Misfit{fmt::format("stage {} goes on on a node that had stages before others between",
                              ranks[r].stage),
                  "FlagScale's runner gives the processes of a host ranks that follow one another"};
  }
  return std::nullopt;
}

/// Why the first and the last stage cannot share the weights of the embedding.
PossibleMisfit tied_misfit(const ExportedPlan& exported) {
  if (!exported.shape.tied) return std::nullopt;
  const Stage& first = exported.plan.stages.front();
  const Stage& last = exported.plan.stages.back();
  if (first.tensor_parallel == last.tensor_parallel &&
      (first.replicas % last.replicas == 0 || last.replicas % first.replicas == 0))
    return std::nullopt;
  return Misfit{
      fmt::format("the first stage has {} x {} devices and the last {} x {}", first.replicas,
                  first.tensor_parallel, last.replicas, last.tensor_parallel),
      "with tied embeddings FlagScale has as many members on both, and replicas that divide each "
      "other"};
}

PossibleMisfit flagscale_misfit(const ExportedPlan& exported, const TrainerKind& trainer) {
  for (int s = 0; s < exported.plan.num_stages(); ++s) {
    if (auto found = mesh_misfit(exported, trainer, s)) return found;
  }
  for (const ChunkBlocks& chunk : chunk_blocks(exported)) {
    if (chunk.blocks.empty())
      return Misfit{"a stage has no block of the model",
                    "FlagScale counts the blocks of each, at least one"};
  }
  if (auto found = tied_misfit(exported)) return found;
  if (auto found = hosts_misfit(exported)) return found;
  return warm_up_misfit(exported, trainer);
}

void check_flagscale_job(const ExportedJob& job) {
  megatron_model_arguments(job);
  megatron_training_arguments(job);
}

/// A key with its value as a line of YAML, from an option of Megatron-LM.
std::string yaml_line(const std::string& option, const std::string& indent) {
  const std::size_t space = option.find(' ');
  std::string key = option.substr(2, space == std::string::npos ? space : space - 2);
  std::replace(key.begin(), key.end(), '-', '_');
  return indent + key + ": " + (space == std::string::npos ? "True" : option.substr(space + 1)) +
         "\n";
}

class FlagscaleExport {
 public:
  explicit FlagscaleExport(const ExportedPlan& exported)
      : exported_(exported),
        plan_(exported.plan),
        shape_(exported.shape),
        order_(launch_order(exported.plan, exported.cluster)),
        meshes_(process_meshes(exported, order_)) {}

  std::vector<ExportFile> files() {
    return {{"config.yaml", config()}, {"hostfile", hostfile()},
            ranks_file(order_),        hosts_file(order_, exported_.cluster),
            {"job.sbatch", sbatch()},  page()};
  }

 private:
  /// The ZeRO stage of stages with several replicas.
  int zero_stage() const { return zero_stage_of(plan_); }

  std::string list_of(int (*number)(const ProcessMesh&)) const {
    std::vector<std::string> numbers;
    for (const ProcessMesh& mesh : meshes_) numbers.push_back(std::to_string(number(mesh)));
    return "[" + join(numbers) + "]";
  }

  std::string hetero() const {
    std::vector<std::string> split;
    for (const ChunkBlocks& chunk : chunk_blocks(exported_))
      split.push_back(std::to_string(chunk.blocks.size()));
    std::vector<std::string> numbers;
    std::vector<std::string> types;
    for (const ProcessMesh& mesh : meshes_) {
      numbers.push_back(
          fmt::format("{}, 1, {}, {}, {}", mesh.tensor, mesh.expert, mesh.data, mesh.stages));
      types.push_back("\"" + mesh.type + "\"");
    }
    std::string text = "    hetero:\n      enable_hetero: True\n";
    text += "      # tensor, context, expert, data and pipeline parallel degree of each mesh\n";
    text += "      hetero_process_meshes: [" + join(numbers) + "]\n";
    text += "      hetero_pipeline_layer_split: [" + join(split) + "]\n";
    text += "      hetero_device_types: [" + join(types) + "]\n";
    text += "      hetero_current_device_type: " + types.front() + "\n";
    text += "      standalone_embedding_stage: False\n";
    if (shape_.experts.number > 0) {
      text += "      expert_tensor_parallel_size_per_process_mesh: " +
              list_of([](const ProcessMesh& mesh) { return mesh.expert_tensor; }) + "\n";
    }
    return text;
  }

  std::string system() const {
    const Stage& first = plan_.stages.front();
    std::string text = "  system:\n";
    text +=
        fmt::format("    tensor_model_parallel_size: {}\n    pipeline_model_parallel_size: {}\n",
                    first.tensor_parallel, plan_.num_stages());
    const auto divided = [](const ProcessMesh& mesh) { return mesh.tensor > 1; };
    if (std::any_of(meshes_.begin(), meshes_.end(), divided))
      text += "    sequence_parallel: True\n";
    if (zero_stage() == 1) text += "    use_distributed_optimizer: True\n";
    if (zero_stage() == 1 && shape_.tied && meshes_.front().data != meshes_.back().data)
      text += "    use_partial_reduce_for_shared_embedding: True\n";
    if (first.recompute == Recompute::full)
      text +=
          "    recompute_granularity: full\n    recompute_method: uniform\n    "
          "recompute_num_layers: 1\n";
    if (first.recompute == Recompute::selective) text += "    recompute_granularity: selective\n";
    return text + hetero() +
           "    logging:\n      log_interval: 1\n    checkpoint:\n      save_interval: 1000\n";
  }

  std::string model() const {
    std::string text = "  model:\n";
    for (const std::string& option : megatron_model_arguments(exported_))
      text += yaml_line(option, "    ");
    text += fmt::format(
        "    # Samples of a replica of the first mesh; FlagScale makes those of the others of it.\n"
        "    micro_batch_size: {}\n    global_batch_size: {}\n",
        plan_.micro_batch_size / plan_.stages.front().replicas, plan_.global_batch_size);
    for (const std::string& option : megatron_training_arguments(exported_))
      text += yaml_line(option, "    ");
    return text;
  }

  /// The devices of each node by their numbers there, in the order of the ranks.
  std::vector<std::string> visible_devices() const {
    std::vector<std::vector<std::string>> devices(order_.nodes.size());
    for (const ExportRank& rank : order_.ranks)
      devices[static_cast<std::size_t>(rank.node)].push_back(std::to_string(rank.local_rank));
    std::vector<std::string> lists;
    for (const auto& node : devices) lists.push_back(join(node, ","));
    return lists;
  }

  std::string config() const {
    std::string text =
        "# FlagScale's configuration of the plan. README.md says how to start it.\ndefaults:\n  - "
        "_self_\n\n";
    text += "experiment:\n  exp_name: \"" + exported_.model.name + "\"\n  exp_dir: ./outputs\n";
    text +=
        "  task:\n    type: train\n    backend: megatron\n    entrypoint: "
        "./flagscale/train/train_gpt.py\n";
    text +=
        "  runner:\n    backend: torchrun\n    # Ranks go by the order of the hosts.\n    "
        "rdzv_backend: static\n"
        "    hostfile: hostfile\n";
    const std::vector<std::string> devices = visible_devices();
    text += "  envs:\n    CUDA_DEVICE_MAX_CONNECTIONS: 1\n    CUDA_VISIBLE_DEVICES: \"" +
            devices.front() + "\"\n";
    const std::vector<std::string> hosts = host_names(order_, exported_.cluster);
    std::string differing;
    for (std::size_t n = 1; n < devices.size(); ++n) {
      if (devices[n] == devices.front()) continue;
      differing +=
          fmt::format("      {}:\n        CUDA_VISIBLE_DEVICES: \"{}\"\n", hosts[n], devices[n]);
    }
    if (!differing.empty()) text += "    node_specific:\n" + differing;
    text += "\ntrain:\n" + system() + model();
    text += fmt::format(
        "  # Tokens that Megatron-LM makes up: replace it by your data_path, split and tokenizer.\n"
        "  data:\n    mock_data: True\n    tokenizer:\n      tokenizer_type: NullTokenizer\n"
        "      vocab_size: {}\n",
        shape_.vocabulary - 1);
    return text + "\naction: run\n\nhydra:\n  run:\n    dir: ${experiment.exp_dir}/hydra\n";
  }

  std::string hostfile() const {
    const std::vector<std::string> hosts = host_names(order_, exported_.cluster);
    std::string text;
    for (std::size_t n = 0; n < hosts.size(); ++n) {
      const auto has = [&](const ExportRank& rank) { return rank.node == static_cast<int>(n); };
      const auto slots = std::count_if(order_.ranks.begin(), order_.ranks.end(), has);
      const auto mesh = std::find_if(meshes_.begin(), meshes_.end(), [&](const ProcessMesh& one) {
        return one.nodes.contains(static_cast<int>(n));
      });
      text += fmt::format("{} slots={} type={}\n", hosts[n], slots, mesh->type);
    }
    return text;
  }

  std::string sbatch() const {
    return sbatch_head(exported_, order_, "--ntasks-per-node=1") +
           "mkdir -p \"$here/run\"\n"
           "for file in hostfile config.yaml; do\n"
           "  edits=()\n"
           "  for n in \"${!names[@]}\"; do edits+=(-e \"s/\\bHOST-$n\\b/${names[n]}/\"); done\n"
           "  sed \"${edits[@]}\" \"$here/$file\" >\"$here/run/$file\"\n"
           "done\n"
           "cd -- \"${FLAGSCALE:?is to be the folder of FlagScale}\"\n"
           "\"${PYTHON:-python3}\" run.py --config-path \"$here/run\" --config-name config \\\n"
           "  experiment.runner.hostfile=\"$here/run/hostfile\" action=run \"$@\"\n"
           "# The runner starts processes on the hosts by ssh and ends; the job stays as long as "
           "they do.\n"
           "sleep infinity\n";
  }

  ExportFile page() const {
    ExportPage page;
    page.title = "FlagScale";
    page.version =
        "FlagScale 0.9 (its main branch of November 2025) with the Megatron-LM that it patches";
    page.steps = {
        hosts_step(),
        "In `config.yaml`, replace what stands under `data` by your data and tokenizer, as "
        "FlagScale's examples "
        "have it.",
        "Set `FLAGSCALE` to its folder, and `PYTHON` to the Python in which its training runs.",
        "`sbatch job.sbatch`, here; cancel it (`scancel`) when the training has ended. Without "
        "Slurm, write the "
        "hosts into `hostfile` and `config.yaml`, and in FlagScale's folder "
        "`python run.py --config-path THIS_FOLDER --config-name config "
        "experiment.runner.hostfile=THIS_FOLDER/hostfile`."};
    page.files = {
        {"config.yaml", "experiment and training, whose keys are Megatron-LM's options"},
        {"hostfile", "hosts in the order of the ranks, with the type of the mesh that they are in"},
        {"job.sbatch", "the batch script: starts FlagScale's runner on the first host"},
        {"ranks.tsv", "node, local rank and place in the plan of every rank"},
        {"hosts.txt", "host name and kind of device of every node"}};
    page.mapped = {
        {"stages of one shape and kind",
         "a mesh of `hetero_process_meshes`: tensor, context, expert, data and pipeline "
         "parallel degree"},
        {"layers",
         "`hetero_pipeline_layer_split`: blocks of each stage; the first has the embedding too, "
         "the last the "
         "output layer"},
        {"samples of a replica",
         "`micro_batch_size` of the first mesh; another one's is this times the first "
         "mesh's replicas over its own"},
        {"devices",
         rank_order_text() +
             "; `hetero_device_types` are names of meshes, by which FlagScale sorts processes"},
        {"recompute, ZeRO", "`recompute_granularity`, `use_distributed_optimizer`"}};
    page.differs = {
        "Messages between unlike meshes are FlagScale's; where devices of several makers cannot "
        "exchange them "
        "directly, add `hetero_use_cpu_communication: True`.",
        "`sequence_parallel` goes with tensor parallelism: it stores less and sends as much.",
        "The vocabulary is padded to a multiple of 128 times the tensor-parallel degree.",
        "Initial weights and the order of samples are Megatron-LM's.",
        predicted_runtime_text("flagscale")};
    return page_file(exported_, page);
  }

  const ExportedPlan& exported_;
  const Plan& plan_;
  const DecoderShape& shape_;
  LaunchOrder order_;
  std::vector<ProcessMesh> meshes_;
};

}  // namespace

TrainerExport flagscale_export() {
  return {"flagscale", check_flagscale_job, flagscale_misfit,
          [](const ExportedPlan& exported) { return FlagscaleExport(exported).files(); }};
}

}  // namespace pptrain
