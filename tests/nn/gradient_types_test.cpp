// In which types gradients wait between the passes of a block in 16 bits.
#include "base/random.hpp"
#include "nn/run/operator_layer.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

/// Types of gradients that the operators of a layer met in B.
struct Types {
  std::vector<DType> of_norms;     ///< of their results, before their B
  std::vector<DType> of_products;  ///< of their results, after their B
};

/// An operator's module that says which types its gradients have.
class Watched final : public OperatorModule {
 public:
  Watched(const OperatorPlace& place, Types& types)
      : OperatorModule(place), module_(make_operator(place)), types_(types) {}

  void forward(Batch& batch, Pass& pass) override { module_->forward(batch, pass); }
  void backward_input(const Batch& batch, Pass& pass) override {
    if (op().as<op::Norm>() != nullptr)
      types_.of_norms.push_back(pass.gradients[output()].matrix.type);
    module_->backward_input(batch, pass);
    if (op().as<op::Linear>() != nullptr)
      types_.of_products.push_back(pass.gradients[output()].matrix.type);
  }
  void backward_weight(const Batch& batch, Pass& pass) override {
    module_->backward_weight(batch, pass);
  }
  bool weight_reads_gradient() const override { return module_->weight_reads_gradient(); }

 private:
  std::unique_ptr<OperatorModule> module_;
  Types& types_;
};

/// A block of GPT-2, forward and backward, alone on its device.
Types run_block(DType type) {
  ModelConfig config;
  config.layers = 1;
  config.hidden_size = 32;
  config.heads = 2;
  config.vocabulary_size = 50;
  TrainingConfig training;
  training.sequence_length = 16;
  const Model model = build_model(config, training, "test");
  const OperatorList& list = model.layers[1].operators;
  Arena arena;
  SilentCommunicator group;
  ParameterStore store;
  LayerContext context{host_backend(), arena, group, store, model, type, {}};
  const std::vector<std::size_t> parameters = add_parameters(model.layers[1], ChunkId(0), context);
  Types types;
  OperatorLayer layer(list, fused(list), parameters, context, [&](const OperatorPlace& place) {
    return std::make_unique<Watched>(place, types);
  });
  store.allocate(arena, host_kernels(), type);
  fill_random(store, 3);
  const auto rows = [&](const char* name) {
    Tensor x(arena, 16, 32);
    CounterRandom(5, name).fill_normal(0, x.size(), x.f32());
    return x;
  };
  Batch batch{1};
  SavedPtr saved;
  layer.forward(batch, rows("input"), &saved);
  layer.backward_input(batch, rows("gradient"), *saved);
  layer.backward_weight(batch, *saved);
  return types;
}

TEST_CASE("gradients of a block's norms and products have the type of products on one member") {
  for (const DType type : {DType::f32, DType::bf16}) {
    const Types types = run_block(type);
    CHECK(types.of_norms == std::vector<DType>(2, type));
    CHECK(types.of_products == std::vector<DType>(4, type));
  }
}

}  // namespace
