#include <fmt/format.h>

#include "base/error.hpp"
#include "base/names.hpp"
#include "model/trainable.hpp"

namespace pptrain {

Model build_model(const ModelConfig& model, const TrainingConfig& training, const std::string& source) {
  if (model.is_classifier()) return build_mlp_classifier(model, training);
  if (model.name == "gpt2") return build_gpt2(model, training, source);
  throw_bad_input({source, fmt::format("[model] name = \"{}\" cannot be trained", model.name),
                   "this version trains " + join(trainable_models()), "plan it with `pptrain plan --analytic`"});
}

}  // namespace pptrain
