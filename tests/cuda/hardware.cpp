// Real GPUs: tests that need several are started where there are as many (PPTRAIN_TEST_GPUS).
#include "cuda/hardware.hpp"

#include "comm/mpi.hpp"
#include "cuda/presence.hpp"

namespace pptrain::test {

Hardware hardware() { return Hardware::gpus; }

int gpu_of_rank(Gpus gpus) { return gpus == Gpus::own ? rank_in(MPI_COMM_WORLD) % num_gpus() : 0; }

void be_of_capability(int /*major*/, int /*minor*/) {}

std::vector<std::string> take_ranges() { return {}; }

}  // namespace pptrain::test
