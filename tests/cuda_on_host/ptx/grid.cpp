#include "grid.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <cstring>
#include <set>

#include "watch.hpp"

namespace cuda_on_host::ptx {
namespace {

constexpr unsigned lanes = Clock::lanes;
constexpr unsigned all_lanes = 0xffffffffU;

/// Ends a grid whose threads cannot go on.
struct Stuck {};

enum class State : std::uint8_t { runs, at_block_barrier, at_warp_barrier, at_shuffle, ended };

struct Thread {
  State state = State::runs;
  int next = 0;       // instruction
  unsigned mask = 0;  // of lanes that it waits with
  Clock clock;
  std::vector<Register> registers;
  std::vector<unsigned char> local;
};

/// Arithmetic with denormal numbers, which GPUs keep unless an instruction says otherwise, whatever
/// the host's kernels have chosen for this thread.
class KeptDenormals {
 public:
  KeptDenormals() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~KeptDenormals() { std::fesetenv(&before_); }
  KeptDenormals(const KeptDenormals&) = delete;
  KeptDenormals& operator=(const KeptDenormals&) = delete;

 private:
  std::fenv_t before_ = {};
};

/// The lane that a shuffle takes its value from.
struct LaneSource {
  unsigned lane = 0;
  bool is_there = false;  // else a lane keeps its own value
};

/// `b` and `c` are operands of the shuffle (PTX ISA, "shfl.sync").
LaneSource source_of(unsigned lane, const Instruction& one, unsigned b, unsigned c) {
  const unsigned segment = c >> 8 & 31U, clamp = c & 31U;
  const unsigned lowest = lane & segment, highest = lowest | (clamp & ~segment);
  const unsigned by = b & 31U;
  LaneSource source;
  switch (one.shuffle) {
    case Shuffle::up: source = {lane - by, lane >= by && lane - by >= highest}; break;
    case Shuffle::down: source = {lane + by, lane + by <= highest}; break;
    case Shuffle::butterfly: source = {lane ^ by, (lane ^ by) <= highest}; break;
    case Shuffle::index:
      source.lane = lowest | (by & ~segment);
      source.is_there = source.lane <= highest;
      break;
  }
  if (!source.is_there) source.lane = lane;
  return source;
}

/// Block numbers of all launches, by which shared memory of an earlier block is told from one's
/// own.
unsigned next_block = 0;

class Grid {
 public:
  Grid(const Kernel& kernel, const Launch& launch)
      : kernel_(kernel),
        launch_(launch),
        size_(launch.block.x * launch.block.y * launch.block.z),
        threads_(size_),
        shared_(kernel.shared_bytes + launch.shared_bytes),
        shared_places_(kernel.narrowest_shared),
        global_places_(kernel.narrowest_global) {
    counts_.launches = 1;
    if (size_ > kernel.most_threads) find_at_launch("more threads than __launch_bounds__ says");
    place_arguments();
    for (Thread& thread : threads_) thread.local.resize(kernel.local_bytes);
  }

  Outcome run() {
    const KeptDenormals denormals;
    try {
      for (unsigned z = 0; z < launch_.grid.z; ++z) {
        for (unsigned y = 0; y < launch_.grid.y; ++y) {
          for (unsigned x = 0; x < launch_.grid.x; ++x) run_block({x, y, z});
        }
      }
    } catch (const Stuck&) {
    }
    return {counts_, findings_};
  }

 private:
  void place_arguments() {
    parameters_.resize(kernel_.parameter_bytes);
    if (launch_.arguments.size() != kernel_.parameters.size())
      return find_at_launch("another number of arguments");
    for (std::size_t i = 0; i < launch_.arguments.size(); ++i) {
      const std::string& bytes = launch_.arguments[i];
      if (bytes.size() != kernel_.parameters[i].bytes)
        return find_at_launch("another size of argument " + std::to_string(i));
      std::memcpy(parameters_.data() + kernel_.parameters[i].at, bytes.data(), bytes.size());
    }
  }

  void find_at_launch(const std::string& what) { findings_.push_back(what + ": " + kernel_.name); }

  const Instruction& at(const Thread& thread) const {
    return kernel_.code[static_cast<std::size_t>(thread.next)];
  }

  void find(const std::string& what, const Instruction& where) {
    if (!told_.insert(where.line).second) return;
    const auto place = static_cast<std::size_t>(&where - kernel_.code.data());
    const std::string& source = kernel_.sources[static_cast<std::size_t>(where.source)];
    findings_.push_back(what + (source.empty() ? "" : " at " + source) + ", line " +
                        std::to_string(where.line) + " of " + kernel_.file + " (" +
                        kernel_.texts[place] + "), in " + kernel_.name);
  }

  [[noreturn]] void find_last(const std::string& what, const Instruction& where) {
    find(what, where);
    throw Stuck();
  }

  void run_block(dim3 number) {
    std::memset(shared_.data(), 0xff, shared_.size());
    block_ = next_block++;
    for (unsigned t = 0; t < size_; ++t) begin_thread(threads_[t], t, number);
    bool is_forwards = false;
    do {
      is_forwards = !is_forwards;
      for (unsigned i = 0; i < size_; ++i) {
        Thread& thread = threads_[is_forwards ? i : size_ - 1 - i];
        if (thread.state == State::runs) run_thread(thread);
      }
    } while (open_warps() || open_block());
  }

  void begin_thread(Thread& thread, unsigned t, dim3 number) const {
    const dim3 block = launch_.block, grid = launch_.grid;
    thread.state = State::runs;
    thread.next = 0;
    thread.clock.begin(block_, t);
    thread.registers = kernel_.registers;
    std::fill(thread.local.begin(), thread.local.end(), static_cast<unsigned char>(0xff));
    const std::array<unsigned, num_specials> values = {t % block.x,
                                                       t / block.x % block.y,
                                                       t / block.x / block.y,
                                                       block.x,
                                                       block.y,
                                                       block.z,
                                                       number.x,
                                                       number.y,
                                                       number.z,
                                                       grid.x,
                                                       grid.y,
                                                       grid.z,
                                                       t % lanes};
    std::copy(values.begin(), values.end(), thread.registers.begin());
  }

  /// Runs a thread until it waits or ends.
  void run_thread(Thread& thread) {
    Register* registers = thread.registers.data();
    const auto end = static_cast<int>(kernel_.code.size());
    std::uint64_t executed = 0;
    while (thread.state == State::runs) {
      if (thread.next >= end) {
        thread.state = State::ended;
        break;
      }
      const Instruction& one = at(thread);
      ++executed;
      if (one.guard != no_register && (registers[one.guard] != 0) != one.runs_if_guard_is) {
        ++thread.next;
      } else if (one.operation == Operation::arithmetic) {
        one.arithmetic(registers, one);
        ++thread.next;
      } else {
        step(thread, one);
      }
    }
    counts_.instructions += executed;
  }

  /// Anything but arithmetic.
  void step(Thread& thread, const Instruction& one) {
    switch (one.operation) {
      case Operation::arithmetic: break;
      case Operation::branch: thread.next = one.target; break;
      case Operation::leave: thread.state = State::ended; break;
      case Operation::block_barrier: thread.state = State::at_block_barrier; break;
      case Operation::warp_barrier: meet(thread, State::at_warp_barrier, one.operands[0]); break;
      case Operation::shuffle: meet(thread, State::at_shuffle, one.operands[3]); break;
      case Operation::load:
        load(thread, one, reach(thread, one));
        ++thread.next;
        break;
      case Operation::store:
        store(thread, one, reach(thread, one));
        ++thread.next;
        break;
    }
  }

  static void meet(Thread& thread, State state, int mask) {
    thread.mask = static_cast<unsigned>(thread.registers[static_cast<std::size_t>(mask)]);
    thread.state = state;
  }

  /// The memory that a load or store reaches, once its address has been checked.
  unsigned char* reach(Thread& thread, const Instruction& one) {
    const Register base = thread.registers[static_cast<std::size_t>(one.operands[0])];
    const std::uint64_t address = base + static_cast<std::uint64_t>(one.offset);
    const unsigned bytes = one.bytes * one.elements;
    if (address % bytes != 0) find_last("a vector between its boundaries", one);
    switch (one.space) {
      case Space::global: return reach_global(thread, one, address, bytes);
      case Space::shared: return reach_shared(thread, one, address, bytes);
      case Space::local: return within(thread.local, one, address, bytes);
      case Space::parameter: break;
    }
    return within(parameters_, one, address, bytes);
  }

  unsigned char* within(std::vector<unsigned char>& memory, const Instruction& one,
                        std::uint64_t address, unsigned bytes) {
    if (address + bytes > memory.size()) find_last("memory out of bounds", one);
    return memory.data() + address;
  }

  unsigned char* reach_shared(const Thread& thread, const Instruction& one, std::uint64_t address,
                              unsigned bytes) {
    ++counts_.shared_accesses;
    unsigned char* place = within(shared_, one, address, bytes);
    shared_places_.for_each(address, bytes, block_, [&](Place& part) {
      look(part, thread, one, "shared memory");
      if (one.operation == Operation::load && !part.is_written())
        find("reads shared memory that nobody wrote", one);
    });
    return place;
  }

  unsigned char* reach_global(const Thread& thread, const Instruction& one, std::uint64_t address,
                              unsigned bytes) {
    auto* place = reinterpret_cast<unsigned char*>(address);
    if (address < known_begin_ || address + bytes > known_end_) {
      if (!is_device_memory(place, bytes)) find_last("global memory out of bounds", one);
      known_begin_ = address / known_bytes * known_bytes;
      known_end_ = known_begin_ + known_bytes;
      if (!is_device_memory(reinterpret_cast<void*>(known_begin_), known_bytes))
        known_begin_ = known_end_ = 0;
    }
    const bool is_load = one.operation == Operation::load;
    global_places_.for_each(address, bytes, [&](Place& part) {
      if (is_load && !part.is_read()) counts_.loaded_bytes += kernel_.narrowest_global;
      if (!is_load && !part.is_written()) counts_.stored_bytes += kernel_.narrowest_global;
      look(part, thread, one, "global memory");
    });
    return place;
  }

  void look(Place& place, const Thread& thread, const Instruction& one, const char* memory) {
    const bool is_load = one.operation == Operation::load;
    const char* wrong = is_load ? place.read(thread.clock) : place.write(thread.clock);
    if (wrong != nullptr) find(std::string(memory) + " without a barrier: " + wrong, one);
  }

  static void load(Thread& thread, const Instruction& one, const unsigned char* from) {
    for (unsigned i = 0; i < one.elements; ++i) {
      Register value = 0;
      std::memcpy(&value, from + i * one.bytes, one.bytes);
      const unsigned unused = 64 - 8U * one.bytes;
      if (one.is_signed)
        value = static_cast<Register>(static_cast<std::int64_t>(value << unused) >> unused);
      if (one.results[i] != no_register)
        thread.registers[static_cast<std::size_t>(one.results[i])] = value;
    }
  }

  static void store(const Thread& thread, const Instruction& one, unsigned char* to) {
    for (unsigned i = 0; i < one.elements; ++i)
      std::memcpy(to + i * one.bytes, &thread.registers[static_cast<std::size_t>(one.results[i])],
                  one.bytes);
  }

  /// Lets the lanes go that all whom they name wait with. False: nobody could go.
  bool open_warps() {
    bool any = false;
    for (unsigned first = 0; first < size_; first += lanes) any = open_warp(first) || any;
    return any;
  }

  static bool waits_for_warp(const Thread& thread) {
    return thread.state == State::at_warp_barrier || thread.state == State::at_shuffle;
  }

  bool open_warp(unsigned first) {
    const unsigned here = std::min(lanes, size_ - first);
    unsigned done = 0;
    for (unsigned lane = 0; lane < here; ++lane) {
      const Thread& thread = threads_[first + lane];
      if ((done >> lane & 1U) != 0 || !waits_for_warp(thread)) continue;
      done |= thread.mask | 1U << lane;
      open_lanes(first, here, lane);
    }
    return done != 0;
  }

  /// What lane `lane` of the warp of `here` threads from `first` on waits for.
  void open_lanes(unsigned first, unsigned here, unsigned lane) {
    const Thread& one = threads_[first + lane];
    const Instruction& where = at(one);
    // A warp that the block does not fill may name all lanes.
    const unsigned present = here == lanes ? all_lanes : (1U << here) - 1;
    const unsigned mask = one.mask == all_lanes ? present : one.mask;
    if ((mask >> lane & 1U) == 0) find_last("a lane is not in the mask that it names", where);
    if ((mask & ~present) != 0) find_last("a mask names lanes that the block does not have", where);
    for (unsigned l = 0; l < here; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      const Thread& other = threads_[first + l];
      if (other.state == State::ended) find_last("a warp waits for a lane that has ended", where);
      if (other.state == State::at_block_barrier)
        find_last("a warp waits for a lane that waits for the block", where);
      if (other.mask != one.mask) find_last("lanes of a warp name different masks", where);
      if (other.next != one.next)
        find_last("lanes of a warp meet at different instructions", where);
    }
    if (one.state == State::at_shuffle) exchange(first, mask, where);
    release(first, mask, one.state == State::at_warp_barrier);
  }

  void release(unsigned first, unsigned mask, bool is_barrier) {
    std::array<Clock*, lanes> clocks = {};
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      Thread& thread = threads_[first + l];
      thread.state = State::runs;
      ++thread.next;
      clocks[l] = &thread.clock;
    }
    if (is_barrier) Clock::pass_warp_barrier(clocks, mask);
  }

  /// Each lane gets the value of another one.
  void exchange(unsigned first, unsigned mask, const Instruction& one) {
    std::array<Register, lanes> values = {};
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) != 0) values[l] = operand(first + l, one, 0);
    }
    for (unsigned l = 0; l < lanes; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      const auto [from, is_there] =
          source_of(l, one, static_cast<unsigned>(operand(first + l, one, 1)),
                    static_cast<unsigned>(operand(first + l, one, 2)));
      if ((mask >> from & 1U) == 0) find("a lane wants the value of one outside the mask", one);
      auto& registers = threads_[first + l].registers;
      registers[static_cast<std::size_t>(one.results[0])] = values[from];
      if (one.results[1] != no_register)
        registers[static_cast<std::size_t>(one.results[1])] = is_there ? 1 : 0;
    }
  }

  Register operand(unsigned thread, const Instruction& one, unsigned number) const {
    return threads_[thread].registers[static_cast<std::size_t>(one.operands[number])];
  }

  /// False: all threads have ended.
  bool open_block() {
    const Thread* waiting = nullptr;
    unsigned ended = 0;
    for (const Thread& thread : threads_) {
      if (thread.state == State::ended) ++ended;
      if (thread.state != State::at_block_barrier) continue;
      if (waiting != nullptr && thread.next != waiting->next)
        find_last("__syncthreads() that threads reach at different places", at(*waiting));
      waiting = &thread;
    }
    if (waiting == nullptr) return false;
    if (ended != 0)
      find_last("__syncthreads() that not all threads of the block reach", at(*waiting));
    ++counts_.barriers;
    for (Thread& thread : threads_) {
      thread.state = State::runs;
      ++thread.next;
      thread.clock.pass_block_barrier();
    }
    return true;
  }

  static constexpr std::uint64_t known_bytes = 4096;

  const Kernel& kernel_;
  const Launch& launch_;
  unsigned size_, block_ = 0;
  std::vector<Thread> threads_;
  std::vector<unsigned char> shared_, parameters_;
  SharedPlaces shared_places_;
  GlobalPlaces global_places_;
  std::uint64_t known_begin_ = 0, known_end_ = 0;  // device memory that was asked for before
  Counts counts_;
  std::set<int> told_;
  std::vector<std::string> findings_;
};

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  launches += other.launches;
  instructions += other.instructions;
  loaded_bytes += other.loaded_bytes;
  stored_bytes += other.stored_bytes;
  shared_accesses += other.shared_accesses;
  barriers += other.barriers;
  return *this;
}

Outcome run(const Kernel& kernel, const Launch& launch) { return Grid(kernel, launch).run(); }

}  // namespace cuda_on_host::ptx
