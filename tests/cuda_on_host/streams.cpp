#include <sched.h>

#include <cstring>
#include <deque>
#include <vector>

#include "base/timing.hpp"
#include "stand_in.hpp"

namespace {

/// A moment in the work of a stream.
struct Moment {
  StandInStream* stream = nullptr;  // null: never recorded, which counts as past
  std::uint64_t number = 0;
};

}  // namespace

struct StandInStream {
  std::deque<std::function<bool()>> waiting;  // each says whether it has ended
  std::uint64_t num_enqueued = 0, num_done = 0;
  bool works = false;
};

struct StandInEvent {
  Moment moment;
  int questions = 0;  // since it was recorded
  bool times = true;
  /// By the clock of the device, which works in the thread that asks for its work: what that has
  /// worked, whoever else uses the machine.
  double* done_at = nullptr;
};

namespace cuda_on_host {
namespace {

constexpr int questions_until_done = 3;

std::vector<StandInStream*> streams;  // those that exist, in the order of their creation
std::uint64_t done_total = 0, library_calls = 0;
std::uint64_t random_state = 0;

bool exists(cudaStream_t stream) {
  for (const StandInStream* known : streams) {
    if (known == stream) return true;
  }
  return false;
}

void require(cudaStream_t stream, const char* call) {
  if (stream == nullptr) fault(std::string(call) + " on the default stream");
  if (!exists(stream)) fault(std::string(call) + " on a stream that does not exist");
}

bool is_past(const Moment& moment) {
  // A destroyed stream has done its work.
  return moment.stream == nullptr || !exists(moment.stream) ||
         moment.stream->num_done >= moment.number;
}

/// Whether the work could be done up to there: it could not where it needs what other processes
/// have not done yet.
bool try_until(const Moment& moment) {
  if (is_past(moment)) return true;
  StandInStream& stream = *moment.stream;
  if (stream.works) return false;
  const Access access;
  while (stream.num_done < moment.number) {
    stream.works = true;
    const bool has_ended = stream.waiting.front()();
    stream.works = false;
    if (!has_ended) return false;
    stream.waiting.pop_front();
    ++stream.num_done;
    ++done_total;
  }
  return true;
}

/// While the work has to wait for other processes, they may need other streams' work.
void run_until(const Moment& moment) {
  while (!try_until(moment)) {
    const std::vector<StandInStream*> others = streams;
    for (StandInStream* stream : others) try_until({stream, stream->num_enqueued});
    sched_yield();
  }
}

void run_all(StandInStream* stream) { run_until({stream, stream->num_enqueued}); }

std::uint64_t random_number() {
  random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
  return random_state >> 33;
}

/// Some of what waits, where the test wants that.
void work_at_random() {
  if (random_state == 0 || streams.empty()) return;
  StandInStream* stream = streams[random_number() % streams.size()];
  if (stream->works) return;
  const std::uint64_t left = stream->num_enqueued - stream->num_done;
  if (left > 0 && random_number() % 2 == 0)
    run_until({stream, stream->num_done + 1 + random_number() % left});
}

}  // namespace

void set_eagerness(std::uint64_t seed) { random_state = seed; }
std::uint64_t num_done() { return done_total; }
std::uint64_t num_library_calls() { return library_calls; }

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  return enqueue_waiting(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

cudaError_t enqueue_library_call(cudaStream_t stream, std::function<void()> work) {
  ++library_calls;
  return enqueue(stream, std::move(work));
}

cudaError_t enqueue_waiting(cudaStream_t stream, std::function<bool()> work) {
  require(stream, "work");
  if (is_captured(stream)) {
    capture_work(std::move(work));
    return cudaSuccess;
  }
  stream->waiting.push_back(std::move(work));
  ++stream->num_enqueued;
  work_at_random();
  return cudaSuccess;
}

void finish_everything() {
  // The newest first: whoever needs an older one's work has to say so.
  for (std::size_t i = streams.size(); i-- > 0;) {
    if (!streams[i]->works) run_all(streams[i]);
  }
  check_surroundings();
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaDeviceSynchronize() {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  finish_everything();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if ((flags & cudaStreamNonBlocking) == 0)
    fault("a stream that waits for the default stream was created");
  *stream = new StandInStream;
  streams.push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  require(stream, "cudaStreamDestroy");
  run_all(stream);
  std::erase(streams, stream);  // what is left of it names moments that have passed
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  require(stream, "cudaStreamSynchronize");
  run_all(stream);
  check_surroundings();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  require(stream, "cudaStreamQuery");
  return stream->waiting.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  require(stream, "cudaStreamWaitEvent");
  const Moment moment = event->moment;  // as recorded now, whatever the event is used for later
  if (moment.stream == stream) return cudaSuccess;
  return enqueue_waiting(stream, [moment] { return try_until(moment); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data) {
  return enqueue(stream, [function, data] { function(data); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new StandInEvent;
  (*event)->times = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event->done_at != nullptr) run_until(event->moment);
  delete event->done_at;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  require(stream, "cudaEventRecord");
  if (event->times) {
    if (event->done_at == nullptr) event->done_at = new double(0.0);
    double* at = event->done_at;
    if (const cudaError_t status = enqueue(stream, [at] { *at = pptrain::thread_cpu_seconds(); });
        status != cudaSuccess)
      return status;
  }
  event->moment = {stream, stream->num_enqueued};
  event->questions = 0;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  if (is_past(event->moment)) return cudaSuccess;
  if (++event->questions < questions_until_done) return cudaErrorNotReady;
  return try_until(event->moment) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
  run_until(event->moment);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (start->done_at == nullptr || end->done_at == nullptr) return cudaErrorInvalidResourceHandle;
  if (cudaEventQuery(start) != cudaSuccess || cudaEventQuery(end) != cudaSuccess)
    return cudaErrorNotReady;
  *milliseconds = static_cast<float>(1e3 * (*end->done_at - *start->done_at));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const auto is_right = [bytes](const void* block, bool device) {
    return device ? is_device_memory(block, bytes) : is_pinned_memory(block, bytes);
  };
  // The real one copies pageable memory too, but then host and device wait for one another.
  if (!is_right(to, to_device))
    fault("cudaMemcpyAsync to what is no block of device or pinned memory");
  if (!is_right(from, from_device))
    fault("cudaMemcpyAsync from what is no block of device or pinned memory");
  return enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream) {
  if (!is_device_memory(block, bytes))
    fault("cudaMemsetAsync of what is no block of device memory");
  return enqueue(stream, [=] { std::memset(block, value, bytes); });
}
