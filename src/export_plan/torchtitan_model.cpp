// What torchtitan/models/llama3 and torchtitan/models/qwen3 are told of a model.
#include "export_plan/torchtitan_model.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// The model with free widths of heads, norms of them, and weights that the output layer may share.
bool has_free_heads(const DecoderShape& shape) {
  return shape.head_norms || shape.tied || shape.head_size * shape.heads != shape.hidden;
}

void check_torchtitan_model(const ExportedJob& job) {
  const DecoderShape& s = job.shape;
  const auto refuse = [&](const std::string& what) {
    throw_bad_input({job.source,
                     fmt::format("torchtitan cannot be told of the model {}", job.model.name),
                     "none of its models of text has " + what,
                     "export for megatron, or train it with pptrain"});
  };
  if (s.experts.number > 0) refuse("these experts");
  if (s.norm.kind != NormKind::rms || s.norm.one_plus) refuse("norms other than RMSNorm");
  if (!s.gated || s.activation != Activation::silu) refuse("a feed-forward part other than SwiGLU");
  if (s.has_biases()) refuse("biases");
  if (!s.rotary || s.rotary->rotated != s.head_size)
    refuse("positions other than rotary ones of whole heads");
  if (s.rotary->scaling == RotaryForm::Scaling::linear)
    refuse("positions that are scaled linearly");
  if (s.parallel || s.embedding_scale != 1.0) refuse("parallel blocks or scaled embeddings");
  if (s.window > 0 && s.window < s.tokens) refuse("attention within a window");
  if (has_free_heads(s) && s.rotary->scaling != RotaryForm::Scaling::none)
    refuse("scaled positions beside norms of heads or tied weights");
}

std::string rotary_scaling(const RotaryForm& rotary) {
  const bool scaled = rotary.scaling != RotaryForm::Scaling::none;
  return fmt::format(
      "RoPEScalingArgs(scaling_factor={}, low_freq_factor={}, high_freq_factor={}, "
      "original_max_position_embeddings={:.0f})",
      scaled ? rotary.factor : 1.0, rotary.low_frequency_factor, rotary.high_frequency_factor,
      rotary.original_length);
}

/// A Llama of torchtitan. The class takes no number of feed-forward columns, but a multiplier of
/// the width and what the product is rounded up to a multiple of; the wanted number of columns is
/// given as the latter.
std::string narrow_model(const DecoderShape& s) {
  constexpr const char* package = "torchtitan.models.llama3";
  return fmt::format(
      "from {0} import TransformerModelArgs, llama3_args\nfrom {0}.model.args import "
      "RoPEScalingArgs\n\n"
      "llama3_args[\"{1}\"] = TransformerModelArgs(\n    dim={2},\n    n_layers={3},\n    "
      "n_heads={4},\n"
      "    n_kv_heads={5},\n    vocab_size={6},\n    # One multiple of it is the number of "
      "feed-forward columns.\n"
      "    multiple_of={7},\n    ffn_dim_multiplier={8:.6g},\n    norm_eps={9:.6g},\n    "
      "rope_theta={10},\n"
      "    rope_scaling_args={11},\n    max_seq_len={12},\n)\n",
      package, torchtitan_flavor, s.hidden, s.num_blocks(), s.heads, s.key_heads, s.vocabulary,
      s.feed_forward,
      0.5 * static_cast<double>(s.feed_forward) / (8.0 / 3.0 * static_cast<double>(s.hidden)),
      static_cast<double>(s.norm.epsilon), s.rotary->theta, rotary_scaling(*s.rotary), s.tokens);
}

std::string model_with_free_heads(const DecoderShape& s) {
  constexpr const char* package = "torchtitan.models.qwen3";
  const auto flag = [](bool value) { return value ? "True" : "False"; };
  return fmt::format(
      "from {0} import Qwen3ModelArgs, qwen3_args\n\n"
      "qwen3_args[\"{1}\"] = Qwen3ModelArgs(\n    dim={2},\n    n_layers={3},\n    n_heads={4},\n  "
      "  n_kv_heads={5},\n"
      "    vocab_size={6},\n    head_dim={7},\n    hidden_dim={8},\n    norm_eps={9:.6g},\n    "
      "rope_theta={10},\n"
      "    qk_norm={11},\n    enable_weight_tying={12},\n    max_seq_len={13},\n)\n",
      package, torchtitan_flavor, s.hidden, s.num_blocks(), s.heads, s.key_heads, s.vocabulary,
      s.head_size, s.feed_forward, static_cast<double>(s.norm.epsilon), s.rotary->theta,
      flag(s.head_norms), flag(s.tied), s.tokens);
}

std::string decay_keys(const ExportedJob& job) {
  const LrSchedulerConfig& rate = job.config.lr_scheduler;
  const double steps = static_cast<double>(job.config.training.steps);
  if (rate.kind == LrSchedule::constant) return "decay_ratio = 0.0\n";
  if (rate.kind == LrSchedule::linear || rate.kind == LrSchedule::cosine)
    return fmt::format("decay_type = \"{}\"\n", lr_schedule_names().name_of(rate.kind));
  if (rate.kind == LrSchedule::wsd)
    return fmt::format("decay_ratio = {:.6g}\ndecay_type = \"linear\"\n",
                       static_cast<double>(rate.decay_steps) / steps);
  throw_bad_input({job.config.where("lr_scheduler.name"),
                   "torchtitan has no learning rate that falls in steps",
                   "it stays, falls linearly or as a cosine",
                   "choose one with --set lr_scheduler.name=constant"});
}

}  // namespace

std::string torchtitan_model_name(const DecoderShape& shape) {
  return has_free_heads(shape) ? "qwen3" : "llama3";
}

std::string torchtitan_model(const ExportedJob& job) {
  check_torchtitan_model(job);
  const DecoderShape& shape = job.shape;
  return "# Dimensions of the model that the plan is for, as a flavor of torchtitan's model.\n" +
         (has_free_heads(shape) ? model_with_free_heads(shape) : narrow_model(shape));
}

std::string torchtitan_optimizer(const ExportedJob& job) {
  const OptimizerConfig& optimizer = job.config.optimizer;
  if (optimizer.kind != OptimizerKind::adamw) {
    throw_bad_input(
        {job.config.where("optimizer.name"),
         fmt::format("torchtitan is not told of the optimizer \"{}\"", optimizer.name()),
         "it has AdamW", "plan and export with --set optimizer.name=adamw"});
  }
  const LrSchedulerConfig& rate = job.config.lr_scheduler;
  return fmt::format(
             "[optimizer]\nname = \"AdamW\"\nlr = {}\nbeta1 = {}\nbeta2 = {}\neps = "
             "{}\nweight_decay = {}\n\n",
             optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon,
             optimizer.decay()) +
         fmt::format("[lr_scheduler]\nwarmup_steps = {}\nmin_lr_factor = {:.6g}\n",
                     rate.warmup_steps, rate.minimum / optimizer.learning_rate) +
         decay_keys(job);
}

}  // namespace pptrain
