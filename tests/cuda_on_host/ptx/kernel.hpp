#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Kernels in PTX, the assembly that nvcc makes of CUDA sources and that a GPU's driver translates
/// (NVIDIA, Parallel Thread Execution ISA), in a form that is executed thread by thread.
namespace cuda_on_host::ptx {

/// What a register holds, in its lowest bits; of a predicate, 0 or 1.
using Register = std::uint64_t;

struct Instruction;
/// Computes what an instruction does that touches nothing but registers.
using Arithmetic = void (*)(Register* registers, const Instruction& instruction);

enum class Operation : std::uint8_t {
  arithmetic,
  branch,
  leave,
  block_barrier,
  warp_barrier,
  shuffle,
  load,
  store
};
enum class Space : std::uint8_t { global, shared, local, parameter };
enum class Shuffle : std::uint8_t { up, down, butterfly, index };

constexpr int no_register = -1;

/// Registers and targets of branches are numbers: places in a thread's registers and in a kernel's
/// code.
struct Instruction {
  Operation operation = Operation::arithmetic;
  Space space = Space::global;       ///< of loads and stores
  Shuffle shuffle = Shuffle::index;  ///< of shuffles
  bool runs_if_guard_is = true;      ///< of what runs by a predicate
  bool is_signed = false;            ///< a load extends the sign
  std::uint8_t bytes = 0;            ///< of each element of a load, store, pack or unpack
  std::uint8_t elements = 1;         ///< of a load, store, pack or unpack
  int guard = no_register;           ///< the predicate by which the instruction runs
  int target = 0;                    ///< of a branch
  std::int64_t offset = 0;           ///< bytes that are added to an address
  Arithmetic arithmetic = nullptr;   ///< of arithmetic
  std::array<int, 4> results = {-1, -1, -1, -1};   ///< of a store: what is stored
  std::array<int, 4> operands = {-1, -1, -1, -1};  ///< of loads and stores: the address
  int line = 0;                                    ///< of the PTX file
  int source = 0;                                  ///< place in Kernel::sources
};

/// Registers that every thread finds filled, first of all.
enum Special : int {
  thread_x,
  thread_y,
  thread_z,
  block_size_x,
  block_size_y,
  block_size_z,
  block_x,
  block_y,
  block_z,
  grid_size_x,
  grid_size_y,
  grid_size_z,
  lane_id,
  num_specials
};

struct Parameter {
  std::uint64_t at = 0, bytes = 0;
};

struct Kernel {
  std::string name;    ///< as C++ spells it
  std::string symbol;  ///< as the linker does
  std::string file;    ///< of its PTX, without folders
  std::vector<Instruction> code;
  std::vector<std::string> texts;    ///< of each instruction
  std::vector<std::string> sources;  ///< "norm.cu:12"; the first one is empty: unknown
  std::vector<Register> registers;   ///< as a thread finds them: constants in their places
  std::vector<Parameter> parameters;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t shared_bytes = 0;  ///< without what a launch asks for, which begins behind them
  std::uint64_t local_bytes = 0;
  // The fewest bytes that an element of a load or store has: accesses are watched so finely.
  unsigned narrowest_global = 8, narrowest_shared = 8;
  unsigned most_threads = 1024;  ///< of a block, by __launch_bounds__
};

}  // namespace cuda_on_host::ptx
