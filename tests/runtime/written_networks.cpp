#include "runtime/written_networks.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "config/read.hpp"
#include "runtime/job/datasets.hpp"
#include "support/catch.hpp"

namespace pptrain::test {
namespace {

const std::string ends[] = {
    "[model]\nvocabulary_size = 257\n[[model.layer]]\nkind = \"embedding\"\ncolumns = 64\n",
    "[[model.layer]]\nkind = \"output\"\nnorm = \"rms\"\n"};

}  // namespace

ModelConfig own_network(const std::string& blocks) {
  return parse_config(ends[0] + blocks + ends[1], "own.toml", "").model;
}

Drawn::Drawn(const ModelConfig& network) {
  reference.config.model = network;
  model = build_model(reference.config.model, reference.config.training, "test");
  if (!model.sample.tokens()) {
    reference.config.data.train = {synthetic_data};
    reference.labelled = open_datasets(reference.config, model).train;
  }
  reference.weights.clear();
  for (const ParameterSpec& spec : stored_tensors(model)) draw(spec);
  if (norms_batches()) reference.micro_batch_size = 4;
  reference.tensor_norms.clear();
  for (const ParameterSpec& spec : logical_parameters(model))
    reference.tensor_norms[spec.name] = 0.0;
  const Curve alone =
      train_reference(MPI_COMM_SELF, reference, reference.plan(1, 1, 1, 8, "1f1b"), 8);
  reference.losses = alone.losses;
  reference.grad_norms = alone.grad_norms;
  reference.tensor_norms = alone.tensor_norms;
}

void Drawn::draw(const ParameterSpec& spec) {
  std::vector<float>& values = reference.weights[spec.name];
  values.resize(static_cast<std::size_t>(spec.size()));
  CounterRandom(7, spec.name).fill_normal(0, values.size(), values.data());
  // Far from zero and one, so that a bias or a gain that goes wrong shows.
  for (float& value : values)
    value = spec.initial == Initial::ones ? 1.0F + 0.2F * value : 0.1F * value;
}

bool Drawn::norms_batches() const {
  return std::ranges::any_of(model.layers,
                             [](const Layer& layer) { return layer.batch_norms > 0.0; });
}

double Drawn::evaluated(MPI_Comm comm, const Plan& plan) const {
  int size = 0;
  MPI_Comm_size(comm, &size);
  Session session(comm, reference.config, model, plan, RankMap::identity(size));
  reference.fill(session);
  session.train(0, reference.samples(0));
  return session.evaluate(reference.samples(1));
}

void Drawn::check(const Plan& plan, const SessionOptions& options) const {
  const Curve curve = train_reference(MPI_COMM_WORLD, reference, plan, 8, options);
  check_curve(curve, reference);
}

}  // namespace pptrain::test
