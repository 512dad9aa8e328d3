#include "kernels/bodies/update_steps.hpp"
#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

std::size_t HostKernels::update(const UpdateRun* runs, std::size_t /*count*/,
                                const UpdateStep& step) {
  const auto launch = [&](const auto& one) {
    using Step = std::decay_t<decltype(one)>;
    with_type(runs->copy.type, [&](auto element) {
      launch_elements(Step::name, runs->size,
                      typename Step::template Body<decltype(element)>(*runs, one));
    });
  };
  std::visit(launch, step.step);
  return 1;
}

}  // namespace pptrain
