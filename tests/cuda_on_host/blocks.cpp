#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/team.hpp"
#include "ptx/program.hpp"
#include "stand_in.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace pptrain::cuda {
/// What cuda/team.hpp declares: the shared memory of the block that runs, with room for marks
/// behind it.
uint4 dynamic_shared_memory[(std::size_t{228} << 10) / sizeof(uint4) + 64];
}  // namespace pptrain::cuda

namespace cuda_on_host {
namespace {

using boost::context::fiber;
constexpr std::size_t stack_bytes = std::size_t{256} << 10,
                      shared_by_default = std::size_t{48} << 10, watched = 256;
constexpr unsigned lanes = 32;

enum class State { runs, at_block_barrier, at_warp, ended };

/// A thread of a block, on a stack that the next block uses again.
struct Thread {
  fiber context;
  State state = State::ended;
  uint3 index = {};
  // What it exchanges within its warp.
  unsigned mask = 0, source = 0;
  std::uint64_t value = 0, result = 0;
};

class Block {
 public:
  void run(dim3 size, const std::function<void()>& thread) {
    size_ = size.x * size.y * size.z;
    body_ = &thread;
    while (threads_.size() < size_) add_thread();
    for (unsigned t = 0; t < size_; ++t) {
      threads_[t]->state = State::runs;
      threads_[t]->index = {t % size.x, t / size.x % size.y, t / size.x / size.y};
    }
    while (turn()) {
    }
  }

  /// Called by the thread that runs: others go on until it may.
  void wait(State state) {
    Thread& self = *current_;
    self.state = state;
    main_ = std::move(main_).resume();
    current_ = &self;
    threadIdx = self.index;
  }
  Thread& current() { return *current_; }
  unsigned number() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }

 private:
  /// A fiber that runs the body once per block, and then gives way.
  void add_thread() {
    auto owned = std::make_unique<Thread>();
    Thread* thread = owned.get();
    thread->context = fiber(std::allocator_arg, boost::context::fixedsize_stack(stack_bytes),
                            [this, thread](fiber&& main) {
                              main_ = std::move(main);
                              for (;;) {
                                (*body_)();
                                wait(State::ended);
                              }
                              return std::move(main_);
                            });
    threads_.push_back(std::move(owned));
  }

  /// Runs every thread that can run, in turn forwards and backwards; then opens a barrier. False:
  /// all have ended.
  bool turn() {
    forwards_ = !forwards_;
    for (unsigned i = 0; i < size_; ++i) {
      Thread& thread = *threads_[forwards_ ? i : size_ - 1 - i];
      if (thread.state != State::runs) continue;
      current_ = &thread;
      threadIdx = thread.index;
      thread.context = std::move(thread.context).resume();
    }
    if (open_warps()) return true;
    return open_block();
  }

  /// Lets the lanes go that all who they name wait with.
  bool open_warps() {
    bool any = false;
    for (unsigned first = 0; first < size_; first += lanes) {
      for (unsigned l = 0; l < lanes && first + l < size_; ++l) {
        if (threads_[first + l]->state == State::at_warp)
          any = open_lanes(first, threads_[first + l]->mask) || any;
      }
    }
    return any;
  }

  bool open_lanes(unsigned first, unsigned mask) {
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      if (first + l >= size_) fault("a warp's mask names lanes that the block does not have");
      const Thread& other = *threads_[first + l];
      if (other.state == State::ended) fault("a warp waits for a lane that has ended");
      if (other.state == State::at_block_barrier)
        fault("a warp waits for a lane that waits for the block");
      if (other.state != State::at_warp) return false;
      if (other.mask != mask) fault("lanes of a warp name different masks");
    }
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      Thread& thread = *threads_[first + l];
      if ((mask >> thread.source & 1U) == 0)
        fault("a lane wants the value of one outside the mask");
      thread.result = threads_[first + thread.source]->value;
    }
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) != 0) threads_[first + l]->state = State::runs;
    }
    return true;
  }

  bool open_block() {
    unsigned waiting = 0;
    for (unsigned t = 0; t < size_; ++t)
      waiting += threads_[t]->state == State::at_block_barrier ? 1 : 0;
    if (waiting == 0) return false;
    if (waiting != size_) fault("__syncthreads() that not all threads of the block reach");
    for (unsigned t = 0; t < size_; ++t) threads_[t]->state = State::runs;
    return true;
  }

  std::vector<std::unique_ptr<Thread>> threads_;
  unsigned size_ = 0;
  const std::function<void()>* body_ = nullptr;
  Thread* current_ = nullptr;
  fiber main_;
  bool forwards_ = false;
};

Block& the_block() {
  static auto* block = new Block;  // its fibers are never unwound
  return *block;
}

std::map<const void*, std::size_t>& shared_limits() {
  static std::map<const void*, std::size_t> limits;
  return limits;
}

}  // namespace

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes,
              const std::function<void()>& thread) {
  gridDim = grid;
  blockDim = block;
  auto* shared = reinterpret_cast<unsigned char*>(pptrain::cuda::dynamic_shared_memory);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        std::memset(shared, 0xff, shared_bytes + watched);
        the_block().run(block, thread);
        for (std::size_t i = shared_bytes; i < shared_bytes + watched; ++i) {
          if (shared[i] != 0xff)
            fault("a block wrote behind its " + std::to_string(shared_bytes) + " shared bytes");
        }
      }
    }
  }
}

cudaError_t enqueue_kernel(const cudaLaunchConfig_t& config, const void* kernel,
                           std::function<void()> thread, std::vector<std::string> arguments) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const auto limit = shared_limits().find(kernel);
  const std::size_t most = limit == shared_limits().end() ? shared_by_default : limit->second;
  const bool grid_fits = grid.x >= 1 && grid.x <= 0x7fffffffU && grid.y >= 1 && grid.y <= 65535 &&
                         grid.z >= 1 && grid.z <= 65535;
  const bool block_fits = block.x >= 1 && block.x <= 1024 && block.y >= 1 && block.y <= 1024 &&
                          block.z >= 1 && block.z <= 64 && block.x * block.y * block.z <= 1024;
  if (!grid_fits || !block_fits) return cudaErrorInvalidConfiguration;
  if (config.dynamicSmemBytes > most) return cudaErrorInvalidValue;
  ptx::Program* program = ptx::Program::current();
  const ptx::Kernel* assembly = program == nullptr ? nullptr : program->find(function_name(kernel));
  if (assembly != nullptr) {
    const ptx::Launch launch{grid, block, config.dynamicSmemBytes, std::move(arguments)};
    return enqueue(config.stream, [=] { program->run(*assembly, launch); });
  }
  return enqueue(config.stream, [=, shared = config.dynamicSmemBytes, thread = std::move(thread)] {
    run_grid(grid, block, shared, thread);
  });
}

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source) {
  Thread& self = the_block().current();
  if ((mask >> lane() & 1U) == 0) fault("a lane is not in the mask that it names");
  self.mask = mask;
  self.value = value;
  self.source = source;
  the_block().wait(State::at_warp);
  return self.result;
}

unsigned vote(unsigned mask, bool value) {
  unsigned votes = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1U) != 0 && exchange(mask, value ? 1 : 0, l) != 0) votes |= 1U << l;
  }
  return votes;
}

unsigned lane() { return the_block().number() % lanes; }

}  // namespace cuda_on_host

void __syncthreads() { cuda_on_host::the_block().wait(cuda_on_host::State::at_block_barrier); }

void __syncwarp(unsigned mask) { (void)cuda_on_host::exchange(mask, 0, cuda_on_host::lane()); }

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute /*attribute*/, int value) {
  if (value < 0 || static_cast<std::size_t>(value) > cuda_on_host::most_shared())
    return cudaErrorInvalidValue;
  cuda_on_host::shared_limits()[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  static std::map<const void*, std::string> names;
  *name = names.try_emplace(kernel, cuda_on_host::function_name(kernel)).first->second.c_str();
  return cudaSuccess;
}
