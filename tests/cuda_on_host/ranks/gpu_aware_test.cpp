// Training where MPI takes the memory of GPUs itself (gpu_aware_mpi.cpp).
#include "comm/mpi.hpp"
#include "cuda/backend.hpp"
#include "cuda/hardware.hpp"
#include "runtime/reference.hpp"
#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("an MPI that takes the GPU's memory gives the curve of one that does not, bit for bit",
          "[np4]") {
  const Reference reference("tied");
  const auto gpu = make_gpu_backend(gpu_of_rank(Gpus::shared));
  SessionOptions options = {.backend = gpu->backend()};
  options.direct = gpu->direct();
  for (const Plan& plan :
       {reference.plan(2, 2, 1, 2, "zb-h1"), reference.plan(2, 1, 2, 2, "interleaved-1f1b", 2)}) {
    INFO(plan.shape());
    options.mpi_memory = MpiDeviceMemory{MessagePath::by_host, "the test says so"};
    const Curve by_host = train_reference(MPI_COMM_WORLD, reference, plan, 2, options);
    options.mpi_memory = MpiDeviceMemory{MessagePath::direct, "the test says so"};
    const Curve direct = train_reference(MPI_COMM_WORLD, reference, plan, 2, options);
    CHECK(direct.losses == by_host.losses);
    CHECK(direct.grad_norms == by_host.grad_norms);
  }
}
