#include "model/folds/kept_values.hpp"
#include "nn/run/operator_layer.hpp"
#include "nn/run/recomputed.hpp"

namespace pptrain {
namespace {

/// Whether a layer is better made again from its input: it keeps more than that. Of members
/// together, so that all decide alike.
bool keeps_more_than_input(const Layer& layer, const OperatorList& list, DType type) {
  const double kept = kept_bytes(list, Recompute::none, static_cast<double>(size_of(type)));
  return kept > (layer.input ? layer.input->bytes() : 0.0);
}

}  // namespace

std::unique_ptr<LayerModule> make_layer(const Layer& layer, ChunkId chunk, LayerContext& context) {
  const std::vector<std::size_t> indices = add_parameters(layer, chunk, context);
  const OperatorList& list = layer.divided_by(context.division);
  auto module = std::make_unique<OperatorLayer>(list, fused(list), indices, context);
  if (context.recompute != Recompute::full || !keeps_more_than_input(layer, list, context.type))
    return module;
  module->keep_input();
  return std::make_unique<RecomputedLayer>(std::move(module));
}

}  // namespace pptrain
