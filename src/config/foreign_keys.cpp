#include "config/foreign_keys.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace pptrain {
namespace {

/// Names of other tools behind the key that does the same here.
const std::map<std::string, std::string>& keys_of_other_tools() {
  static const std::map<std::string, std::string> keys = [] {
    const std::map<std::string, std::vector<std::string>> names = {
        {"checkpoint.interval",
         {"save_interval", "save_steps", "save_every", "checkpoint_interval", "save_freq"}},
        {"data.train", {"data_path", "dataset", "train_data", "train_file", "data_dir"}},
        {"job.output", {"output_dir", "out_dir", "save_dir", "dump_folder"}},
        {"lr_scheduler.minimum", {"min_lr", "lr_min"}},
        {"lr_scheduler.name", {"lr_scheduler_type", "lr_decay_style", "scheduler_type"}},
        {"lr_scheduler.warmup_steps",
         {"warmup", "warmup_iters", "lr_warmup_iters", "num_warmup_steps"}},
        {"metrics.evaluation_interval", {"eval_interval", "eval_steps", "eval_every"}},
        {"metrics.interval", {"log_interval", "logging_steps", "log_freq"}},
        {"model.heads", {"n_head", "n_heads", "num_heads", "num_attention_heads", "nhead"}},
        {"model.hidden_size", {"n_embd", "d_model", "dim", "hidden_dim", "embed_dim", "hidden"}},
        {"model.layers", {"n_layer", "n_layers", "num_layers", "num_hidden_layers"}},
        {"model.vocabulary_size", {"vocab_size", "n_vocab", "vocab"}},
        {"optimizer.beta1", {"adam_beta1"}},
        {"optimizer.beta2", {"adam_beta2"}},
        {"optimizer.epsilon", {"eps", "adam_eps", "adam_epsilon"}},
        {"optimizer.gradient_clip",
         {"grad_clip", "clip_grad", "max_norm", "max_grad_norm", "gradient_clipping"}},
        {"optimizer.learning_rate", {"lr", "base_lr", "max_lr", "rate"}},
        {"optimizer.weight_decay", {"wd"}},
        {"parallelism.context",
         {"cp", "cp_size", "context_parallel", "context_parallel_size", "context_parallel_degree",
          "cp_degree"}},
        {"parallelism.data",
         {"dp", "dp_size", "data_parallel", "data_parallel_size", "dp_degree",
          "data_parallel_shard_degree", "data_parallel_replicate_degree"}},
        {"parallelism.expert",
         {"ep", "ep_size", "expert_parallel", "expert_model_parallel_size",
          "expert_parallel_degree"}},
        {"parallelism.pipeline",
         {"pp", "pp_size", "pipeline_parallel", "pipeline_parallel_size",
          "pipeline_model_parallel_size", "pp_degree", "pipeline_parallel_degree", "num_stages"}},
        {"parallelism.recompute",
         {"activation_checkpoint", "activation_checkpointing", "gradient_checkpointing",
          "checkpoint_activations", "recompute_granularity", "recompute_activations"}},
        {"parallelism.schedule", {"pipeline_schedule", "pipeline_parallel_schedule"}},
        {"parallelism.tensor",
         {"tp", "tp_size", "tmp", "tensor_parallel", "tensor_parallel_size",
          "tensor_model_parallel_size", "tp_degree", "tensor_parallel_degree", "mp_size",
          "model_parallel_size"}},
        {"parallelism.virtual_stages",
         {"vpp", "num_model_chunks", "virtual_pipeline_model_parallel_size", "interleave"}},
        {"parallelism.zero_stage", {"zero", "zero_optimization", "fsdp", "sharding_stage"}},
        {"training.global_batch_size",
         {"batch_size", "batch", "gbs", "train_batch_size", "global_batch"}},
        {"training.micro_batch_size",
         {"micro_batch", "microbatch_size", "mbs", "train_micro_batch_size_per_gpu",
          "per_device_train_batch_size", "local_batch_size", "gradient_accumulation_steps",
          "pipeline_parallel_microbatch_size"}},
        {"training.precision", {"dtype", "torch_dtype", "mixed_precision", "fp16", "bf16"}},
        {"training.sequence_length",
         {"seq_len", "seq_length", "sequence_len", "max_seq_len", "max_seq_length", "block_size",
          "context_length", "max_length"}},
        {"training.steps",
         {"max_steps", "train_iters", "max_iters", "num_steps", "iterations", "num_train_steps"}},
        {"lr_scheduler", {"scheduler", "lr_schedule"}},
        {"metrics", {"logging", "log"}},
        {"optimizer", {"optim"}},
        {"parallelism", {"parallel", "distributed"}},
        {"training", {"train", "trainer"}},
    };
    std::map<std::string, std::string> by_name;
    for (const auto& [key, foreign] : names) {
      for (const std::string& name : foreign) by_name.emplace(name, key);
    }
    return by_name;
  }();
  return keys;
}

}  // namespace

std::string key_called(std::string_view foreign) {
  std::string name(foreign);
  std::replace(name.begin(), name.end(), '-', '_');
  const auto found = keys_of_other_tools().find(name);
  return found == keys_of_other_tools().end() ? "" : found->second;
}

}  // namespace pptrain
