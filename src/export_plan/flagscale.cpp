// Configuration of FlagScale. Names and forms are those of flagscale/train/arguments.py, of the runner in
// flagscale/runner, which makes Megatron-LM's options of a YAML file's keys, and of flagscale/train/hetero.
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

const TrainerName flagscale = {"FlagScale", "flagscale"};

/// A key with its value as a line of YAML, from an option of Megatron-LM.
std::string yaml_line(const std::string& option, const std::string& indent) {
  const std::size_t space = option.find(' ');
  std::string key = option.substr(2, space == std::string::npos ? space : space - 2);
  std::replace(key.begin(), key.end(), '-', '_');
  return indent + key + ": " + (space == std::string::npos ? "True" : option.substr(space + 1)) + "\n";
}

class FlagscaleExport {
 public:
  explicit FlagscaleExport(const ExportedPlan& exported)
      : exported_(exported),
        plan_(exported.plan),
        shape_(decoder_shape(exported.model, flagscale.title, exported.source)),
        order_(launch_order(exported.plan, exported.cluster)) {}

  std::vector<ExportFile> files() {
    check();
    meshes_ = process_meshes(exported_, flagscale, order_);
    check_tied();
    return {{"config.yaml", config()}, {"hostfile", hostfile()},
            ranks_file(order_),        hosts_file(order_, exported_.cluster),
            {"job.sbatch", sbatch()},  page()};
  }

 private:
  [[noreturn]] void refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) const {
    refuse_plan(exported_, problem, reason, suggestion);
  }

  void check() const {
    const std::string one_chunk = "plan again with --set parallelism.schedule=1f1b --set parallelism.virtual_stages=1";
    if (plan_.schedule.name != "1f1b" && plan_.num_stages() > 1)
      refuse(fmt::format("schedule \"{}\"", plan_.schedule.name), "FlagScale runs unlike stages in the order of 1f1b",
             one_chunk);
    for (int s = 0; s < plan_.num_stages(); ++s) check_stage_of(s, one_chunk);
    check_warm_ups(exported_, flagscale);
    check_experts(exported_, flagscale, shape_);
    check_nodes();
  }

  void check_stage_of(int number, const std::string& one_chunk) const {
    const Stage& stage = plan_.stages[static_cast<std::size_t>(number)];
    const Stage& first = plan_.stages.front();
    check_stage(exported_, flagscale, stage, number);
    if (stage.layers.size() > 1)
      refuse(fmt::format("{} chunks per stage", stage.layers.size()), "FlagScale runs one on unlike stages", one_chunk);
    if (stage.recompute != first.recompute)
      refuse(fmt::format("stages 0 and {} compute other things again", number), "an export says it for all stages",
             "plan again with --set parallelism.recompute=full, or =none");
    const int zero = zero_of(stage);
    if (zero > 1 || stage.sharding_groups().size() > 1 || (stage.replicas > 1 && zero != zero_stage()))
      refuse(fmt::format("ZeRO stage {} on stage {}", zero, number),
             "the distributed optimizer divides optimizer state over all replicas, on all stages or none",
             "plan again with --set parallelism.zero_stage=1 --set parallelism.zero_group=replicas");
    if (stage.offload)
      refuse(fmt::format("the optimizer state of stage {} is in the host's memory", number), "FlagScale is not told to",
             "plan again with --set parallelism.offload=false");
    if (shape_.heads % stage.tensor_parallel != 0 || shape_.key_heads % stage.tensor_parallel != 0)
      refuse(fmt::format("{} members of stage {} share {} heads and {} key heads", stage.tensor_parallel, number,
                         shape_.heads, shape_.key_heads),
             "each has equally many of both", "plan again with --set parallelism.tensor=N that divides both");
  }

  static int zero_of(const Stage& stage) { return stage.replicas > 1 ? stage.zero_stage : 0; }

  /// The ZeRO stage of stages with several replicas.
  int zero_stage() const {
    for (const Stage& stage : plan_.stages)
      if (stage.replicas > 1) return stage.zero_stage;
    return 0;
  }

  /// Refuses ranks of one host that do not follow one another, as FlagScale's runner numbers them.
  void check_nodes() const {
    std::set<int> ended;
    for (std::size_t r = 1; r < order_.ranks.size(); ++r) {
      if (order_.ranks[r].node == order_.ranks[r - 1].node) continue;
      ended.insert(order_.ranks[r - 1].node);
      if (!ended.contains(order_.ranks[r].node)) continue;
      refuse(fmt::format("stage {} goes on on a node that had stages before others between", order_.ranks[r].stage),
             "FlagScale's runner gives the processes of a host ranks that follow one another",
             "plan again with --planner amp, whose stages take the devices of a node in a row");
    }
  }

  void check_tied() const {
    if (!shape_.tied) return;
    const ProcessMesh& first = meshes_.front();
    const ProcessMesh& last = meshes_.back();
    if (first.tensor == last.tensor && (first.data % last.data == 0 || last.data % first.data == 0)) return;
    refuse(fmt::format("the first stage has {} x {} devices and the last {} x {}", first.data, first.tensor, last.data,
                       last.tensor),
           "with tied embeddings FlagScale has as many members on both, and replicas that divide each other",
           "plan again with --set parallelism.tensor=N, or --planner uniform");
  }

  std::string list_of(int (*number)(const ProcessMesh&)) const {
    std::vector<std::string> numbers;
    for (const ProcessMesh& mesh : meshes_) numbers.push_back(std::to_string(number(mesh)));
    return "[" + join(numbers) + "]";
  }

  std::string hetero() const {
    std::vector<std::string> split;
    for (const ChunkBlocks& chunk : chunk_blocks(exported_, flagscale, shape_)) {
      if (chunk.blocks.empty())
        refuse("a stage has no block of the model", "FlagScale counts the blocks of each, at least one",
               "plan again with --set parallelism.pipeline=N, N smaller");
      split.push_back(std::to_string(chunk.blocks.size()));
    }
    std::vector<std::string> numbers;
    std::vector<std::string> types;
    for (const ProcessMesh& mesh : meshes_) {
      numbers.push_back(fmt::format("{}, 1, {}, {}, {}", mesh.tensor, mesh.expert, mesh.data, mesh.stages));
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
    text += fmt::format("    tensor_model_parallel_size: {}\n    pipeline_model_parallel_size: {}\n",
                        first.tensor_parallel, plan_.num_stages());
    const auto divided = [](const ProcessMesh& mesh) { return mesh.tensor > 1; };
    if (std::any_of(meshes_.begin(), meshes_.end(), divided)) text += "    sequence_parallel: True\n";
    if (zero_stage() == 1) text += "    use_distributed_optimizer: True\n";
    if (zero_stage() == 1 && shape_.tied && meshes_.front().data != meshes_.back().data)
      text += "    use_partial_reduce_for_shared_embedding: True\n";
    if (first.recompute == Recompute::full)
      text += "    recompute_granularity: full\n    recompute_method: uniform\n    recompute_num_layers: 1\n";
    if (first.recompute == Recompute::selective) text += "    recompute_granularity: selective\n";
    return text + hetero() + "    logging:\n      log_interval: 1\n    checkpoint:\n      save_interval: 1000\n";
  }

  std::string model() const {
    std::string text = "  model:\n";
    for (const std::string& option : megatron_model_arguments(exported_, shape_)) text += yaml_line(option, "    ");
    text += fmt::format(
        "    # Samples of a replica of the first mesh; FlagScale makes those of the others of it.\n"
        "    micro_batch_size: {}\n    global_batch_size: {}\n",
        plan_.micro_batch_size / plan_.stages.front().replicas, plan_.global_batch_size);
    for (const std::string& option : megatron_training_arguments(exported_)) text += yaml_line(option, "    ");
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
        "# FlagScale's configuration of the plan. README.md says how to start it.\ndefaults:\n  - _self_\n\n";
    text += "experiment:\n  exp_name: \"" + exported_.model.name + "\"\n  exp_dir: ./outputs\n";
    text += "  task:\n    type: train\n    backend: megatron\n    entrypoint: ./flagscale/train/train_gpt.py\n";
    text +=
        "  runner:\n    backend: torchrun\n    # Ranks go by the order of the hosts.\n    rdzv_backend: static\n"
        "    hostfile: hostfile\n";
    const std::vector<std::string> devices = visible_devices();
    text += "  envs:\n    CUDA_DEVICE_MAX_CONNECTIONS: 1\n    CUDA_VISIBLE_DEVICES: \"" + devices.front() + "\"\n";
    const std::vector<std::string> hosts = host_names(order_, exported_.cluster);
    std::string differing;
    for (std::size_t n = 1; n < devices.size(); ++n) {
      if (devices[n] == devices.front()) continue;
      differing += fmt::format("      {}:\n        CUDA_VISIBLE_DEVICES: \"{}\"\n", hosts[n], devices[n]);
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
      const auto mesh = std::find_if(meshes_.begin(), meshes_.end(),
                                     [&](const ProcessMesh& one) { return one.nodes.contains(static_cast<int>(n)); });
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
           "# The runner starts processes on the hosts by ssh and ends; the job stays as long as they do.\n"
           "sleep infinity\n";
  }

  ExportFile page() const {
    ExportPage page;
    page.title = flagscale.title;
    page.version = "FlagScale 0.9 (its main branch of November 2025) with the Megatron-LM that it patches";
    page.steps = {
        hosts_step(),
        "In `config.yaml`, replace what stands under `data` by your data and tokenizer, as FlagScale's examples "
        "have it.",
        "Set `FLAGSCALE` to its folder, and `PYTHON` to the Python in which its training runs.",
        "`sbatch job.sbatch`, here; cancel it (`scancel`) when the training has ended. Without Slurm, write the "
        "hosts into `hostfile` and `config.yaml`, and in FlagScale's folder "
        "`python run.py --config-path THIS_FOLDER --config-name config "
        "experiment.runner.hostfile=THIS_FOLDER/hostfile`."};
    page.files = {{"config.yaml", "experiment and training, whose keys are Megatron-LM's options"},
                  {"hostfile", "hosts in the order of the ranks, with the type of the mesh that they are in"},
                  {"job.sbatch", "the batch script: starts FlagScale's runner on the first host"},
                  {"ranks.tsv", "node, local rank and place in the plan of every rank"},
                  {"hosts.txt", "host name and kind of device of every node"}};
    page.mapped = {
        {"stages of one shape and kind",
         "a mesh of `hetero_process_meshes`: tensor, context, expert, data and pipeline "
         "parallel degree"},
        {"layers",
         "`hetero_pipeline_layer_split`: blocks of each stage; the first has the embedding too, the last the "
         "output layer"},
        {"samples of a replica",
         "`micro_batch_size` of the first mesh; another one's is this times the first "
         "mesh's replicas over its own"},
        {"devices",
         rank_order_text() + "; `hetero_device_types` are names of meshes, by which FlagScale sorts processes"},
        {"recompute, ZeRO", "`recompute_granularity`, `use_distributed_optimizer`"}};
    page.differs = {
        "Messages between unlike meshes are FlagScale's; where devices of several makers cannot exchange them "
        "directly, add `hetero_use_cpu_communication: True`.",
        "`sequence_parallel` goes with tensor parallelism: it stores less and sends as much.",
        "The vocabulary is padded to a multiple of 128 times the tensor-parallel degree.",
        "Initial weights and the order of samples are Megatron-LM's.",
        "Times that pptrain predicts are of its own runtime."};
    return page_file(exported_, page);
  }

  const ExportedPlan& exported_;
  const Plan& plan_;
  DecoderShape shape_;
  LaunchOrder order_;
  std::vector<ProcessMesh> meshes_;
};

}  // namespace

std::vector<ExportFile> export_for_flagscale(const ExportedPlan& exported) { return FlagscaleExport(exported).files(); }

}  // namespace pptrain
