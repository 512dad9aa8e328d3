#include "../cuda/hardware.hpp"

#include "comm/mpi.hpp"
#include "stand_in.hpp"

namespace pptrain::test {

Hardware hardware() { return Hardware::stand_in; }

int gpu_of_rank(Gpus gpus) {
  cuda_on_host::set_num_devices(size_of(MPI_COMM_WORLD));
  return gpus == Gpus::own ? rank_in(MPI_COMM_WORLD) : 0;
}

void be_of_capability(int major, int minor) {
  cuda_on_host::set_gpus(
      {{.major = major, .minor = minor}, {.bus = 2, .major = major, .minor = minor}});
}

std::vector<std::string> take_ranges() { return cuda_on_host::take_ranges(); }

}  // namespace pptrain::test
