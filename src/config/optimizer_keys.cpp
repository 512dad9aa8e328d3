#include "config/ranges.hpp"
#include "config/training_keys.hpp"

namespace pptrain {

const NameTable<OptimizerKind>& optimizer_names() {
#define PPTRAIN_ROW(name) {OptimizerKind::name, #name},
  static const NameTable<OptimizerKind> names = {PPTRAIN_FOR_EACH_OPTIMIZER(PPTRAIN_ROW)};
#undef PPTRAIN_ROW
  return names;
}

void visit(KeyVisitor& v, OptimizerConfig& optimizer) {
  visit_kind(v, {"name", "The optimizer."}, optimizer.kind, optimizer_names());
  v.number({"learning_rate", "Largest step size; the scheduler lowers it."},
           optimizer.learning_rate, positive("nothing is learned otherwise"));
  v.number({"beta1",
            "AdamW, Muon: weight of the past in the running mean of gradients; Lion: in its step."},
           optimizer.beta1, below_one("it is the weight of the past in a running mean"));
  v.number({"beta2",
            "AdamW, Muon: weight of the past in the running mean of squared gradients; Lion: in "
            "that of gradients."},
           optimizer.beta2, below_one("it is the weight of the past in a running mean"));
  v.number({"epsilon", "AdamW, Muon: what is added to the root that is divided by."},
           optimizer.epsilon, positive("it keeps a division finite"));
  v.number_or({"weight_decay",
               "Part of a weight that goes in a step, times the learning rate; not of norms and "
               "biases. \"auto\": 0.1, "
               "of SGD 0."},
              optimizer.weight_decay, "auto", not_negative());
  v.number({"gradient_clip",
            "Largest global norm of the gradient, which is scaled down to it; 0: no clipping."},
           optimizer.gradient_clip, not_negative("it is a norm, 0 for no clipping"));
  v.number({"momentum",
            "SGD: weight of the past in the sum of gradients that it steps by; 0: none is kept."},
           optimizer.momentum, below_one("steps would not stop growing"));
  v.flag({"nesterov",
          "SGD: whether a step goes on by the momentum that follows from it (Nesterov's)."},
         optimizer.nesterov);
  v.number(
      {"beta2_decay", "Adafactor: step t moves its running means by t to this power of the way."},
      optimizer.beta2_decay,
      Range{-1.0, 0.0, false, true, "the running means would not settle, or settle too soon"});
  v.number(
      {"epsilon2",
       "Adafactor: the least root mean square of a parameter that its step is in proportion to."},
      optimizer.epsilon2, positive("weights of 0 would stay so"));
  v.number(
      {"clip_threshold", "Adafactor: the largest root mean square of a step before it is scaled."},
      optimizer.clip_threshold, positive("it is a size"));
  v.number({"muon_learning_rate",
            "Muon: largest step size of its matrices; it is lowered as `learning_rate`, which is "
            "that of all others."},
           optimizer.muon_learning_rate, positive("nothing is learned otherwise"));
  v.number({"muon_momentum",
            "Muon: weight of the past in the running mean of the gradients of its matrices."},
           optimizer.muon_momentum, below_one("it is the weight of the past in a running mean"));
}

}  // namespace pptrain
