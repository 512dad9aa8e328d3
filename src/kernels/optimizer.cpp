#include "kernels/bodies/optimizer.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/launch.hpp"

namespace pptrain {

using namespace kernels;

namespace {

template <template <class> class Body, class Step>
std::size_t update(const char* name, const UpdateRun& run, const Step& step) {
  with_type(run.copy.type, [&](auto element) { launch_elements(name, run.size, Body<decltype(element)>(run, step)); });
  return 1;
}

}  // namespace

std::size_t HostKernels::adamw(const UpdateRun* runs, std::size_t /*count*/, const AdamWStep& step) {
  return update<bodies::AdamW>("adamw", *runs, step);
}

std::size_t HostKernels::sgd(const UpdateRun* runs, std::size_t /*count*/, const SgdStep& step) {
  if (step.momentum == 0.0f) return update<bodies::Sgd>("sgd", *runs, step);
  return update<bodies::Momentum>("momentum", *runs, step);
}

std::size_t HostKernels::lion(const UpdateRun* runs, std::size_t /*count*/, const LionStep& step) {
  return update<bodies::Lion>("lion", *runs, step);
}

}  // namespace pptrain
