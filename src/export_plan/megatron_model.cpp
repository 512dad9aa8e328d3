#include "export_plan/megatron_model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Collects the options for the shape of a model.
class ModelArguments {
 public:
  explicit ModelArguments(const ExportedJob& job) : job_(job), s_(job.shape) {}

  std::vector<std::string> all() {
    add("--use-mcore-models");
    sizes();
    norms_and_biases();
    activation();
    positions();
    if (s_.experts.number > 0) experts();
    return lines_;
  }

 private:
  void add(std::string line) { lines_.push_back(std::move(line)); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input({job_.source,
                     fmt::format("Megatron-LM cannot be told of the model {}", job_.model.name),
                     "no option of its GPT says that " + what,
                     "train it with pptrain, or choose another model"});
  }

  void sizes() {
    add(fmt::format("--num-layers {}", s_.num_blocks()));
    add(fmt::format("--hidden-size {}", s_.hidden));
    add(fmt::format("--ffn-hidden-size {}", s_.feed_forward));
    add(fmt::format("--num-attention-heads {}", s_.heads));
    add(fmt::format("--kv-channels {}", s_.head_size));
    if (s_.key_heads != s_.heads) {
      add("--group-query-attention");
      add(fmt::format("--num-query-groups {}", s_.key_heads));
    }
    add(fmt::format("--seq-length {}", s_.tokens));
    add(fmt::format("--max-position-embeddings {}", std::max(s_.tokens, s_.learned_positions)));
    if (!s_.tied) add("--untie-embeddings-and-output-weights");
    if (s_.parallel) refuse("attention and feed-forward part read the same input");
    if (s_.embedding_scale != 1.0) refuse("embeddings are scaled");
    if (s_.window > 0 && s_.window < s_.tokens)
      add(fmt::format("--window-size {},0", s_.window - 1));
  }

  void norms_and_biases() {
    add(fmt::format("--normalization {}", s_.norm.kind == NormKind::rms ? "RMSNorm" : "LayerNorm"));
    add(fmt::format("--norm-epsilon {}",
                    static_cast<double>(std::stod(fmt::format("{}", s_.norm.epsilon)))));
    if (s_.norm.one_plus) add("--apply-layernorm-1p");
    if (s_.head_norms) add("--qk-layernorm");
    if (s_.query_bias && s_.output_bias && s_.feed_forward_bias) return;
    if (s_.output_bias || s_.feed_forward_bias)
      refuse("some of its products have biases and others have none");
    add("--disable-bias-linear");
    if (s_.query_bias) add("--add-qkv-bias");
  }

  void activation() {
    if (s_.gated) {
      if (s_.activation != Activation::silu) refuse("a gate's activation is another one than SiLU");
      add("--swiglu");
    } else if (s_.activation == Activation::gelu) {
      add("--no-bias-gelu-fusion");  // the fused kernel computes GELU by tanh
    } else if (s_.activation != Activation::gelu_tanh || !s_.feed_forward_bias) {
      refuse("the activation is another one than GELU by tanh with biases, GELU, or SwiGLU");
    }
  }

  void positions() {
    if (!s_.rotary) {
      add(s_.learned_positions > 0 ? "--position-embedding-type learned_absolute"
                                   : "--position-embedding-type none");
      return;
    }
    const RotaryForm& rotary = *s_.rotary;
    if (std::floor(rotary.theta) != rotary.theta)
      refuse("the base of rotary positions is no whole number");
    add("--position-embedding-type rope");
    add(fmt::format("--rotary-base {:.0f}", rotary.theta));
    add(fmt::format("--rotary-percent {}",
                    static_cast<double>(rotary.rotated) / static_cast<double>(s_.head_size)));
    switch (rotary.scaling) {
      case RotaryForm::Scaling::none: break;
      case RotaryForm::Scaling::linear:
        if (std::floor(rotary.factor) != rotary.factor)
          refuse("positions are scaled by no whole number");
        add(fmt::format("--rotary-seq-len-interpolation-factor {:.0f}", rotary.factor));
        break;
      case RotaryForm::Scaling::llama3: scaled_as_published(rotary); break;
      case RotaryForm::Scaling::yarn: refuse("positions are scaled by YaRN");
    }
  }

  /// Megatron-LM has constants for all numbers of this scaling but its factor.
  void scaled_as_published(const RotaryForm& rotary) {
    constexpr double low = 1.0;
    constexpr double high = 4.0;
    constexpr double length = 8192.0;
    if (rotary.low_frequency_factor != low || rotary.high_frequency_factor != high ||
        rotary.original_length != length) {
      refuse("rotary positions are scaled by other numbers than 1, 4 and 8192");
    }
    add("--use-rope-scaling");
    add(fmt::format("--rope-scaling-factor {}", rotary.factor));
  }

  void experts() {
    const RoutedPart& e = s_.experts;
    add(fmt::format("--num-experts {}", e.number));
    add(fmt::format("--moe-router-topk {}", e.chosen));
    add(fmt::format("--moe-ffn-hidden-size {}", s_.feed_forward));
    add("--moe-token-dispatcher-type alltoall");
    if (!e.normalised) add("--moe-router-pre-softmax");
    if (e.shared > 0) {
      if (!e.shared_gate) refuse("a part that all tokens go to has no gate");
      add(fmt::format("--moe-shared-expert-intermediate-size {}", e.shared));
      add("--moe-shared-expert-gate");
    }
    if (e.capacity > 0) {
      const double even = static_cast<double>(s_.tokens * e.chosen) / static_cast<double>(e.number);
      add(fmt::format("--moe-expert-capacity-factor {:.6g}",
                      static_cast<double>(e.capacity) / even));
    }
    const double balance = job_.config.training.router_aux_loss;
    add(fmt::format("--moe-router-load-balancing-type {}", balance > 0.0 ? "aux_loss" : "none"));
    if (balance > 0.0) add(fmt::format("--moe-aux-loss-coeff {}", balance));
  }

  const ExportedJob& job_;
  const DecoderShape& s_;
  std::vector<std::string> lines_;
};

/// The style of the learning rate's decay; a job's other ones are refused.
std::string decay_style(const ExportedJob& job) {
  const LrSchedule kind = job.config.lr_scheduler.kind;
  if (kind == LrSchedule::wsd) return "WSD";
  if (kind != LrSchedule::step) return lr_schedule_names().name_of(kind);
  throw_bad_input({job.config.where("lr_scheduler.name"),
                   "Megatron-LM has no learning rate that falls in steps",
                   "its styles are constant, linear, cosine and WSD",
                   "choose one of these with --set lr_scheduler.name"});
}

std::vector<std::string> optimizer_arguments(const ExportedJob& job) {
  const OptimizerConfig& optimizer = job.config.optimizer;
  std::vector<std::string> lines;
  if (optimizer.kind == OptimizerKind::adamw) {
    lines = {"--optimizer adam", fmt::format("--adam-beta1 {}", optimizer.beta1),
             fmt::format("--adam-beta2 {}", optimizer.beta2),
             fmt::format("--adam-eps {}", optimizer.epsilon)};
  } else if (optimizer.kind == OptimizerKind::sgd && !optimizer.nesterov) {
    lines = {"--optimizer sgd", fmt::format("--sgd-momentum {}", optimizer.momentum)};
  } else {
    throw_bad_input(
        {job.config.where("optimizer.name"),
         fmt::format("Megatron-LM is not told of the optimizer \"{}\"", optimizer.name()),
         "all its versions have adamw, and sgd without nesterov",
         "plan and export with --set optimizer.name=adamw"});
  }
  lines.push_back(fmt::format("--lr {}", optimizer.learning_rate));
  lines.push_back(fmt::format("--weight-decay {}", optimizer.decay()));
  lines.push_back(fmt::format("--clip-grad {}", optimizer.gradient_clip));
  return lines;
}

}  // namespace

std::vector<std::string> megatron_model_arguments(const ExportedJob& job) {
  return ModelArguments(job).all();
}

std::vector<std::string> megatron_training_arguments(const ExportedJob& job) {
  const TrainingConfig& training = job.config.training;
  const LrSchedulerConfig& rate = job.config.lr_scheduler;
  std::vector<std::string> lines = optimizer_arguments(job);
  lines.push_back("--lr-decay-style " + decay_style(job));
  lines.push_back(fmt::format("--lr-warmup-iters {}", rate.warmup_steps));
  lines.push_back(fmt::format("--lr-decay-iters {}", training.steps));
  if (rate.kind == LrSchedule::wsd) {
    lines.push_back(fmt::format("--lr-wsd-decay-iters {}", rate.decay_steps));
    lines.emplace_back("--lr-wsd-decay-style linear");
  }
  lines.push_back(fmt::format("--min-lr {}", rate.minimum));
  lines.push_back(fmt::format("--train-iters {}", training.steps));
  lines.push_back(fmt::format("--attention-dropout {}", training.dropout));
  lines.push_back(fmt::format("--hidden-dropout {}", training.dropout));
  if (training.precision != Precision::fp32) lines.push_back("--" + to_string(training.precision));
  if (training.loss_scale && training.precision == Precision::fp16)
    lines.push_back(fmt::format("--loss-scale {}", *training.loss_scale));
  if (training.gradient_precision == GradientPrecision::bf16)
    lines.emplace_back("--grad-reduce-in-bf16");
  return lines;
}

}  // namespace pptrain
