#include "model/layer_builder.hpp"

namespace pptrain {

Product linear(double rows, double in, double out, WeightDivision division) {
  return {2.0 * rows * in * out, rows * in, rows * out, in * out, division};
}

void LayerBuilder::product(const Product& p) {
  Kernel kernel;
  kernel.flop = p.flop;
  kernel.launches = p.launches;
  kernel.share = p.division == WeightDivision::none ? Share::whole : Share::divided;
  (p.division == WeightDivision::rows ? kernel.shard_bytes : kernel.bytes) += element_bytes_ * p.inputs;
  (p.division == WeightDivision::columns ? kernel.shard_bytes : kernel.bytes) += element_bytes_ * p.outputs;
  kernel.weight_bytes = element_bytes_ * p.weights;
  forward(kernel);
  backward_input(kernel);
  kernel.weight_bytes *= 2.0;  // the sum over micro-batches is read and written
  backward_weight(kernel);
}

void LayerBuilder::elementwise(const Elementwise& work) {
  const auto kernel = [&](double elements, int launches) {
    Kernel k;
    k.share = work.share;
    k.launches = launches;
    (work.share == Share::whole ? k.bytes : k.shard_bytes) = element_bytes_ * elements;
    return k;
  };
  if (work.forward_launches > 0) forward(kernel(work.forward, work.forward_launches));
  if (work.backward_launches > 0) backward_input(kernel(work.backward, work.backward_launches));
}

}  // namespace pptrain
