#include "support/simulated_time.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/infinity.hpp"
#include "support/sent_messages.hpp"

namespace pptrain::test {
namespace {

constexpr int most_ranks = 16;
/// A sleep that is no longer is a nap between two looks for a message.
constexpr double longest_nap = 1e-3;
/// How long naps grow, and from which one on.
constexpr double longest_grown_nap = 4e-3;
constexpr int naps_before_growth = 4;

bool machine_is_asked_for() {
  const char* clock = std::getenv("PPTRAIN_TEST_CLOCK");
  return clock != nullptr && std::string_view(clock) == "machine";
}

}  // namespace

struct SimulatedTime::Memory {
  pthread_mutex_t mutex;
  std::array<pthread_cond_t, most_ranks> due;  ///< by rank
  double now;
  std::array<double, most_ranks> wakes;  ///< by rank: when its sleep ends; not later than now: it
                                         ///< is awake
  std::array<bool, most_ranks> naps;     ///< by rank: whether that is a nap
  std::array<bool, most_ranks> rung;  ///< by rank: whether it was sent something since its last nap

  void make() {
    pthread_mutexattr_t of_mutex;
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mutex, &of_mutex);
    pthread_condattr_t of_condition;
    pthread_condattr_init(&of_condition);
    pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
    for (pthread_cond_t& condition : due) pthread_cond_init(&condition, &of_condition);
    now = 0.0;
    wakes.fill(infinity);
    naps.fill(false);
    rung.fill(false);
  }

  class Lock {
   public:
    explicit Lock(Memory& memory) : memory_(memory) { pthread_mutex_lock(&memory_.mutex); }
    ~Lock() { pthread_mutex_unlock(&memory_.mutex); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Memory& memory_;
  };
};

SimulatedTime::SimulatedTime(MPI_Comm comm) : comm_(comm), is_simulated_(!machine_is_asked_for()) {
  int size = 0;
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size);
  if (size > most_ranks) throw std::logic_error("simulated time of too many ranks");
  MPI_Win_allocate_shared(rank_ == 0 ? sizeof(Memory) : 0, 1, MPI_INFO_NULL, comm, &memory_,
                          &window_);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &bytes, &unit, &memory_);
  if (rank_ == 0) memory_->make();
  MPI_Barrier(comm);
}

SimulatedTime::~SimulatedTime() { MPI_Win_free(&window_); }

double SimulatedTime::wall_seconds() {
  const Memory::Lock lock(*memory_);
  return memory_->now;
}

void SimulatedTime::sleep_until(double time) {
  const auto own = static_cast<std::size_t>(rank_);
  const Memory::Lock lock(*memory_);
  memory_->naps[own] = time - memory_->now <= longest_nap;
  memory_->wakes[own] = memory_->naps[own] ? nap_end(time) : time;
  pass();
  while (memory_->now < memory_->wakes[own]) pthread_cond_wait(&memory_->due[own], &memory_->mutex);
}

/// When this rank looks for messages again, which it wants to do at `time`. The memory is locked.
double SimulatedTime::nap_end(double time) {
  if (std::exchange(memory_->rung[static_cast<std::size_t>(rank_)], false)) naps_ = 0;
  const int growth = std::clamp(++naps_ - naps_before_growth, 0, 16);
  return std::max(
      time, memory_->now + std::min(longest_grown_nap, std::ldexp(time - memory_->now, growth)));
}

/// Something was sent to the rank: if it naps it looks at once, and soon again after its next look
/// if not.
void SimulatedTime::ring(int rank) {
  const auto to = static_cast<std::size_t>(rank);
  const Memory::Lock lock(*memory_);
  memory_->rung[to] = true;
  if (memory_->naps[to] && memory_->wakes[to] > memory_->now && memory_->wakes[to] != infinity) {
    memory_->wakes[to] = memory_->now;
    pthread_cond_signal(&memory_->due[to]);
  }
}

/// Lets time, where nobody is awake, come to the next one who is due. The memory is locked.
void SimulatedTime::pass() {
  const double next = *std::min_element(memory_->wakes.begin(), memory_->wakes.end());
  if (next <= memory_->now || next == infinity) return;
  memory_->now = next;
  for (std::size_t r = 0; r < most_ranks; ++r) {
    if (memory_->wakes[r] <= next) pthread_cond_signal(&memory_->due[r]);
  }
}

void SimulatedTime::join() {
  MPI_Barrier(comm_);  // by then everyone has left the section before
  {
    const Memory::Lock lock(*memory_);
    memory_->now = std::max(memory_->now, TimeSource::wall_seconds());
    memory_->wakes[static_cast<std::size_t>(rank_)] = 0.0;
    naps_ = 0;
  }
  MPI_Barrier(comm_);  // nobody sleeps before everyone is there
  set_time_source(this);
  observe_sent([this](int, MPI_Datatype, int to) { ring(to); });
}

void SimulatedTime::leave() {
  set_time_source(nullptr);
  observe_sent({});
  const Memory::Lock lock(*memory_);
  memory_->wakes[static_cast<std::size_t>(rank_)] = infinity;
  pass();
}

SimulatedTime::Section::Section(SimulatedTime& time) : time_(time) {
  if (time_.is_simulated_) {
    time_.join();
  } else {
    MPI_Barrier(time_.comm_);
  }
}

SimulatedTime::Section::~Section() {
  if (time_.is_simulated_) time_.leave();
}

}  // namespace pptrain::test
