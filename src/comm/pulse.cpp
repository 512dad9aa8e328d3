#include "comm/pulse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/units.hpp"
#include "comm/mpi.hpp"

namespace pptrain {
namespace {

// Tags on a communicator that others use too.
constexpr int waiting_tag = 32011;
constexpr int computing_tag = 32012;
constexpr int silent_tag = 32013;

constexpr double signs_per_timeout = 8.0;
constexpr double longest_period = 5.0;

/// The thread needs a clock that no test puts another in the place of.
double pulse_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Small messages leave at once; nobody waits for them, as a rank that stands still never takes
/// them.
void send_away(const void* data, int count, int rank, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, count, MPI_INT, rank, tag, comm, &request);
  MPI_Request_free(&request);
}

/// The rank that has sent a message of this tag, if one is there.
std::optional<int> sender(MPI_Comm comm, int tag) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &there, &status);
  if (there == 0) return std::nullopt;
  return status.MPI_SOURCE;
}

}  // namespace

std::shared_ptr<Pulse> Pulse::start(MPI_Comm world, double timeout_seconds) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_SERIALIZED || size_of(world) == 1) return nullptr;
  return std::shared_ptr<Pulse>(new Pulse(world, timeout_seconds));
}

Pulse::Pulse(MPI_Comm world, double timeout_seconds)
    : world_(world),
      rank_(rank_in(world)),
      size_(size_of(world)),
      timeout_seconds_(timeout_seconds),
      heard_(rank_ == 0 ? static_cast<std::size_t>(size_) : 1, pulse_clock()),
      states_(heard_.size(), State::waiting),
      looked_(pulse_clock()),
      told_(looked_),
      worked_(looked_) {
  thread_ = std::thread([this] { answer(); });
}

Pulse::~Pulse() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Pulse::set_timeout(double seconds) {
  {
    const std::lock_guard lock(mutex_);
    timeout_seconds_ = seconds;
  }
  wake_.notify_all();
}

void Pulse::set_computing(bool computing) {
  const std::lock_guard lock(mutex_);
  computing_ = computing;
}

double Pulse::period() const {
  return std::min(longest_period, timeout_seconds_ / signs_per_timeout);
}

std::optional<int> Pulse::look() {
  const std::lock_guard lock(mutex_);
  return look(State::waiting);
}

double Pulse::idle_seconds() {
  const std::lock_guard lock(mutex_);
  return pulse_clock() - worked_;
}

std::string Pulse::silence(int rank) const {
  return fmt::format("rank {} has not answered for {}: it stands still, or its host does", rank,
                     format_seconds(timeout_seconds_));
}

std::optional<int> Pulse::look(State state) {
  const double now = pulse_clock();
  if (silent_ || now - looked_ < period() / 4.0) return silent_;
  // A rank that did not look for long itself, as when the whole job was stopped, gives the others
  // time anew.
  if (now - looked_ > timeout_seconds_ / 2.0) {
    std::fill(heard_.begin(), heard_.end(), now);
    worked_ = now;
  }
  looked_ = now;
  if (state == State::computing) worked_ = now;
  receive(now);
  if (now - told_ >= period()) {
    tell(state);
    told_ = now;
  }
  if (!silent_) silent_ = find_silent(now);
  return silent_;
}

void Pulse::receive(double now) {
  for (const State state : {State::waiting, State::computing}) {
    const int tag = state == State::waiting ? waiting_tag : computing_tag;
    while (const std::optional<int> from = sender(world_, tag)) {
      MPI_Recv(nullptr, 0, MPI_INT, *from, tag, world_, MPI_STATUS_IGNORE);
      const auto place = rank_ == 0 ? static_cast<std::size_t>(*from) : 0;
      heard_[place] = now;
      states_[place] = state;
      if (state == State::computing) worked_ = now;
    }
  }
  if (const std::optional<int> from = sender(world_, silent_tag)) {
    int silent = 0;
    MPI_Recv(&silent, 1, MPI_INT, *from, silent_tag, world_, MPI_STATUS_IGNORE);
    silent_ = silent;
  }
}

/// Rank 0 passes on that another one computes.
void Pulse::tell(State state) {
  if (rank_ != 0)
    return send_away(nullptr, 0, 0, state == State::waiting ? waiting_tag : computing_tag, world_);
  const bool some =
      std::find(states_.begin() + 1, states_.end(), State::computing) != states_.end();
  const int tag = some || state == State::computing ? computing_tag : waiting_tag;
  for (int rank = 1; rank < size_; ++rank) send_away(nullptr, 0, rank, tag, world_);
}

std::optional<int> Pulse::find_silent(double now) {
  const auto found = std::find_if(heard_.begin() + (rank_ == 0 ? 1 : 0), heard_.end(),
                                  [&](double heard) { return now - heard > timeout_seconds_; });
  if (found == heard_.end()) return std::nullopt;
  static int silent;  // as long as the messages
  silent = static_cast<int>(found - heard_.begin());
  for (int rank = 1; rank_ == 0 && rank < size_; ++rank) {
    if (rank != silent) send_away(&silent, 1, rank, silent_tag, world_);
  }
  return silent;
}

void Pulse::answer() {
  block_signals();
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wake_.wait_for(lock, std::chrono::duration<double>(period()));
    if (ends_ || !computing_) continue;
    if (const std::optional<int> silent = look(State::computing)) end_job(*silent);
  }
}

/// The main thread is busy, and may be so for hours. The others are about to say what they waited
/// for.
void Pulse::end_job(int silent) const {
  log_error("{}",
            format_complaint(
                {fmt::format("rank {}", rank_), silence(silent), "",
                 fmt::format("look at the process of rank {}, or raise [job] timeout", silent)}));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ExitCode::runtime_failure));
  std::abort();
}

}  // namespace pptrain
