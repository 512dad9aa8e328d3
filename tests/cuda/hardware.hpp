#pragma once

#include <cstddef>

/// What the tests of src/cuda run on. The same tests run on the stand-in, which computes thousands of times slower and
/// has as many devices as a test asks for, and on the GPUs of this machine.
namespace pptrain::test {

enum class Hardware { stand_in, gpus };
Hardware hardware();

/// Whether every rank has a device of its own, or all have the same.
enum class Gpus { own, shared };

/// The number of this rank's device.
int gpu_of_rank(Gpus gpus);

}  // namespace pptrain::test
