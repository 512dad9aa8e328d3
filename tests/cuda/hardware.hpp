#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What the tests of src/cuda run on. The same tests run on the stand-in, which computes thousands
/// of times slower and has as many devices as a test asks for, and on the GPUs of this machine.
namespace pptrain::test {

enum class Hardware { stand_in, gpus };
Hardware hardware();

/// Whether every rank has a device of its own, or all have the same.
enum class Gpus { own, shared };

/// The number of this rank's device.
int gpu_of_rank(Gpus gpus);

/// Devices that are made from now on are of this compute capability; on GPUs they are what they
/// are.
void be_of_capability(int major, int minor);

/// Names of the ranges that a profiler was told since the last call of this; nothing on GPUs.
std::vector<std::string> take_ranges();

}  // namespace pptrain::test
