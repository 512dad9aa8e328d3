#include "cuda/nccl_communicator.hpp"

#include <fmt/format.h>

#include <exception>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "cuda/member_sums.hpp"
#include "cuda/nccl_check.hpp"

namespace pptrain {
namespace cuda {

std::string status_text(ncclResult_t status) {
  const char* more = ncclGetLastError(nullptr);
  std::string text = fmt::format("{}: {}", static_cast<int>(status), ncclGetErrorString(status));
  if (more != nullptr && *more != '\0') text += fmt::format(" ({})", more);
  return text;
}

}  // namespace cuda
namespace {

ncclDataType_t type_of(DType type) { return type == DType::f32 ? ncclFloat32 : ncclBfloat16; }

std::size_t elements_of(const Interval& slice) { return static_cast<std::size_t>(slice.size()); }

/// Whether the slices are equally long and one behind another, for which NCCL has calls of its own.
bool are_even(const std::vector<Interval>& slices) {
  for (std::size_t k = 1; k < slices.size(); ++k) {
    if (slices[k].begin != slices[k - 1].end || slices[k].size() != slices[0].size()) return false;
  }
  return slices[0].size() > 0;
}

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce_sum: return "a sum";
    case Collective::all_reduce_max: return "a maximum";
    case Collective::reduce_scatter_sum: return "a reduce-scatter";
    case Collective::all_gather: return "an all-gather";
  }
  return "";
}

std::size_t total_of(const std::vector<Interval>& slices) {
  std::size_t total = 0;
  for (const Interval& slice : slices) total += elements_of(slice);
  return total;
}

/// Ends when `ended` says so.
class Until final : public Pending {
 public:
  Until(std::function<bool()> ended, std::string missing)
      : ended_(std::move(ended)), missing_(std::move(missing)) {}
  bool test() override { return ended_(); }
  std::string missing() const override { return missing_; }

 private:
  std::function<bool()> ended_;
  std::string missing_;
};

}  // namespace

class NcclCommunicator::Operation {
 public:
  Operation(std::string what, CudaWorkPtr before, std::vector<Step> steps, Buffer memory)
      : what_(std::move(what)),
        before_(std::move(before)),
        steps_(std::move(steps)),
        memory_(std::move(memory)) {}

  bool is_called() const { return next_ == steps_.size(); }
  void call_next(ncclComm_t comm, cudaStream_t stream) {
    if (next_ == 0) before_->precede(stream);
    steps_[next_++](comm, stream);
  }
  /// The work is in the stream, up to `work`.
  void set_work(CudaWorkPtr work) { work_ = std::move(work); }
  /// Null while it is not yet in the stream.
  CudaWork* work() const { return work_.get(); }
  bool has_ended() const { return work_ != nullptr && work_->has_ended(); }
  const std::string& what() const { return what_; }

 private:
  std::string what_;
  CudaWorkPtr before_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  Buffer memory_;
  CudaWorkPtr work_;
};

class NcclCommunicator::Running final : public Pending {
 public:
  Running(NcclCommunicator& group, std::shared_ptr<Operation> operation)
      : group_(group), operation_(std::move(operation)) {}

  bool test() override {
    group_.progress();
    return operation_->has_ended();
  }
  bool join() override {
    group_.progress();
    if (operation_->work() == nullptr) return false;
    operation_->work()->precede(group_.device_.stream().handle());
    return true;
  }
  std::string missing() const override { return operation_->what(); }

 private:
  NcclCommunicator& group_;
  std::shared_ptr<Operation> operation_;
};

NcclCommunicator::NcclCommunicator(CudaDevice& device, std::list<NcclCommunicator*>& of_device,
                                   std::unique_ptr<MpiCommunicator> host, std::string name,
                                   Waiter& waiter)
    : device_(device),
      of_device_(of_device),
      host_(std::move(host)),
      name_(std::move(name)),
      waiter_(waiter),
      memory_(0, {}, device) {
  PPTRAIN_CUDA(cudaStreamCreateWithFlags, &stream_, cudaStreamNonBlocking);
  join_members();
  of_device_.push_back(this);
}

void NcclCommunicator::join_members() {
  std::string text(sizeof(ncclUniqueId), '\0');
  ncclUniqueId id = {};
  if (rank() == 0) {
    PPTRAIN_NCCL(ncclGetUniqueId, &id);
    text.assign(id.internal, sizeof(id.internal));
  }
  text = broadcast(host_->comm(), text, waiter_);
  text.copy(id.internal, sizeof(id.internal));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  PPTRAIN_NCCL(ncclCommInitRankConfig, &comm_, size(), id, rank(), &config);
  Until joined([this] { return has_settled(); }, "NCCL on the other ranks of " + name_);
  waiter_.wait(joined, [this] { return "starting NCCL for " + name_; });
}

NcclCommunicator::~NcclCommunicator() {
  of_device_.remove(this);
  bool ended = std::uncaught_exceptions() == 0;
  if (ended) {
    try {
      wait_for_all();
    } catch (const Error&) {
      ended = false;  // who did not come is named elsewhere
    }
  }
  if (ended) {
    PPTRAIN_CUDA_OR_WARN(ncclCommDestroy, comm_);
  } else {
    PPTRAIN_CUDA_OR_WARN(ncclCommAbort, comm_);
  }
  PPTRAIN_CUDA_OR_WARN(cudaStreamDestroy, stream_);
}

void NcclCommunicator::wait_for_all() {
  Until ended(
      [this] {
        progress();
        return waiting_.empty() && launched_.empty();
      },
      unfinished());
  waiter_.wait(ended, [this] { return "ending " + name_; });
  PPTRAIN_NCCL(ncclCommFinalize, comm_);
  Until finalized([this] { return has_settled(); }, "NCCL on the other ranks of " + name_);
  waiter_.wait(finalized, [this] { return "ending " + name_; });
}

/// Whether the last call has come to its end, on the host.
bool NcclCommunicator::has_settled() {
  ncclResult_t state = ncclSuccess;
  PPTRAIN_NCCL(ncclCommGetAsyncError, comm_, &state);
  if (state == ncclInProgress) return false;
  if (state == ncclSuccess) return true;
  throw_runtime_failure({name_, "NCCL has failed: " + cuda::status_text(state),
                         unfinished().empty() ? "" : "not ended: " + unfinished(),
                         "look at the messages of the other ranks; NCCL_DEBUG=INFO tells more"});
}

void NcclCommunicator::progress() {
  while (has_settled()) {
    if (!launched_.empty() && !launched_.back()->is_called()) {
      launched_.back()->call_next(comm_, stream_);
      continue;
    }
    if (!launched_.empty() && launched_.back()->work() == nullptr)
      launched_.back()->set_work(device_.record(stream_));
    while (!launched_.empty() && launched_.front()->has_ended()) launched_.pop_front();
    if (waiting_.empty()) return;
    launched_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

std::string NcclCommunicator::unfinished() const {
  if (!launched_.empty()) return launched_.front()->what();
  return waiting_.empty() ? "" : waiting_.front()->what();
}

PendingPtr NcclCommunicator::enqueue(std::string what, std::vector<Step> steps, Buffer memory) {
  const std::string place = waiter_.place();
  what += " in " + name_ + (place.empty() ? "" : ", started by " + place);
  waiting_.push_back(std::make_shared<Operation>(std::move(what),
                                                 device_.record(device_.stream().handle()),
                                                 std::move(steps), std::move(memory)));
  auto running = std::make_unique<Running>(*this, waiting_.back());
  progress();
  return running;
}

void NcclCommunicator::wait(const PendingPtr& pending) {
  waiter_.wait(*pending, [this] { return name_; });
}

PendingPtr NcclCommunicator::start(Collective collective, void* data, DType type,
                                   const std::vector<Interval>& slices) {
  const bool narrow = type == DType::bf16;
  const std::string what = fmt::format("{}{} of {} elements", name_of(collective),
                                       narrow ? " in bf16" : "", total_of(slices));
  if (collective == Collective::all_gather) return enqueue(what, {gather_step(data, type, slices)});
  if (narrow) return start_narrow_sum(collective, what, static_cast<BFloat16*>(data), slices);
  auto* values = static_cast<float*>(data);
  if (collective == Collective::reduce_scatter_sum)
    return enqueue(what, {scatter_step(values, slices)});
  float* first = values + slices.front().begin;
  const std::size_t n = elements_of(slices.front());
  const ncclRedOp_t reduction = collective == Collective::all_reduce_sum ? ncclSum : ncclMax;
  return enqueue(what, {[=](ncclComm_t comm, cudaStream_t stream) {
                   PPTRAIN_NCCL(ncclAllReduce, first, first, n, ncclFloat32, reduction, comm,
                                stream);
                 }});
}

NcclCommunicator::Step NcclCommunicator::scatter_step(float* data,
                                                      const std::vector<Interval>& slices) const {
  return [=, this](ncclComm_t comm, cudaStream_t stream) {
    if (are_even(slices)) {
      float* own = data + slices[static_cast<std::size_t>(rank())].begin;
      PPTRAIN_NCCL(ncclReduceScatter, data + slices[0].begin, own, elements_of(slices[0]),
                   ncclFloat32, ncclSum, comm, stream);
      return;
    }
    PPTRAIN_NCCL(ncclGroupStart);
    for (int root = 0; root < size(); ++root) {
      const Interval slice = slices[static_cast<std::size_t>(root)];
      float* first = data + slice.begin;
      if (slice.empty()) continue;
      PPTRAIN_NCCL(ncclReduce, first, first, elements_of(slice), ncclFloat32, ncclSum, root, comm,
                   stream);
    }
    PPTRAIN_NCCL(ncclGroupEnd);
  };
}

NcclCommunicator::Step NcclCommunicator::gather_step(void* data, DType type,
                                                     const std::vector<Interval>& slices) const {
  const auto place = [=](const Interval& slice) {
    return static_cast<std::byte*>(data) + static_cast<std::size_t>(slice.begin) * size_of(type);
  };
  return [=, this](ncclComm_t comm, cudaStream_t stream) {
    if (are_even(slices)) {
      const void* own = place(slices[static_cast<std::size_t>(rank())]);
      PPTRAIN_NCCL(ncclAllGather, own, place(slices[0]), elements_of(slices[0]), type_of(type),
                   comm, stream);
      return;
    }
    PPTRAIN_NCCL(ncclGroupStart);
    for (int root = 0; root < size(); ++root) {
      const Interval slice = slices[static_cast<std::size_t>(root)];
      void* first = place(slice);
      if (slice.empty()) continue;
      PPTRAIN_NCCL(ncclBroadcast, first, first, elements_of(slice), type_of(type), root, comm,
                   stream);
    }
    PPTRAIN_NCCL(ncclGroupEnd);
  };
}

void NcclCommunicator::all_to_all(const void* from, const std::vector<std::size_t>& sent, void* to,
                                  const std::vector<std::size_t>& received) {
  const Step step = [=, this](ncclComm_t comm, cudaStream_t stream) {
    const auto* next_sent = static_cast<const std::byte*>(from);
    auto* next_received = static_cast<std::byte*>(to);
    PPTRAIN_NCCL(ncclGroupStart);
    for (int peer = 0; peer < size(); ++peer) {
      const std::size_t goes = sent[static_cast<std::size_t>(peer)],
                        comes = received[static_cast<std::size_t>(peer)];
      if (peer == rank()) {
        if (goes > 0)
          PPTRAIN_CUDA(cudaMemcpyAsync, next_received, next_sent, goes, cudaMemcpyDeviceToDevice,
                       stream);
      } else {
        if (goes > 0) PPTRAIN_NCCL(ncclSend, next_sent, goes, ncclUint8, peer, comm, stream);
        if (comes > 0) PPTRAIN_NCCL(ncclRecv, next_received, comes, ncclUint8, peer, comm, stream);
      }
      next_sent += goes;
      next_received += comes;
    }
    PPTRAIN_NCCL(ncclGroupEnd);
  };
  wait(enqueue(fmt::format("an all-to-all of {} bytes",
                           std::accumulate(sent.begin(), sent.end(), std::size_t{0})),
               {step}));
}

Buffer NcclCommunicator::room_for_sum(const std::vector<Interval>& slices) {
  const std::size_t own = elements_of(slices[static_cast<std::size_t>(rank())]);
  return {memory_, own * static_cast<std::size_t>(size()) * sizeof(BFloat16)};
}

std::vector<NcclCommunicator::Step> NcclCommunicator::sum_steps(BFloat16* data,
                                                                const std::vector<Interval>& slices,
                                                                const Buffer& memory) const {
  auto* parts = static_cast<BFloat16*>(memory.data());
  const Interval slice = slices[static_cast<std::size_t>(rank())];
  BFloat16* own = data + slice.begin;
  const std::size_t n = elements_of(slice);
  const Step exchange = [=, this](ncclComm_t comm, cudaStream_t stream) {
    PPTRAIN_NCCL(ncclGroupStart);
    for (int peer = 0; peer < size(); ++peer) {
      const Interval theirs = slices[static_cast<std::size_t>(peer)];
      BFloat16* part = parts + n * static_cast<std::size_t>(peer);
      if (peer == rank()) {
        if (n > 0)
          PPTRAIN_CUDA(cudaMemcpyAsync, part, own, n * sizeof(BFloat16), cudaMemcpyDeviceToDevice,
                       stream);
        continue;
      }
      if (!theirs.empty()) {
        PPTRAIN_NCCL(ncclSend, data + theirs.begin, elements_of(theirs), ncclBfloat16, peer, comm,
                     stream);
      }
      if (n > 0) PPTRAIN_NCCL(ncclRecv, part, n, ncclBfloat16, peer, comm, stream);
    }
    PPTRAIN_NCCL(ncclGroupEnd);
  };
  const Step sum = [=, this](ncclComm_t, cudaStream_t stream) {
    cuda::sum_members(stream, parts, static_cast<std::size_t>(size()), n, own);
  };
  return {exchange, sum};
}

PendingPtr NcclCommunicator::start_narrow_sum(Collective collective, std::string what,
                                              BFloat16* data, const std::vector<Interval>& slices) {
  PPTRAIN_ASSERT(collective != Collective::all_reduce_max, "a maximum of bf16 values");
  const bool whole = collective == Collective::all_reduce_sum;
  BFloat16* first = whole ? data + slices.front().begin : data;
  const std::vector<Interval> own = whole ? even_division(slices.front().size(), size()) : slices;
  Buffer memory = room_for_sum(own);
  std::vector<Step> steps = sum_steps(first, own, memory);
  if (whole) steps.push_back(gather_step(first, DType::bf16, own));
  return enqueue(std::move(what), std::move(steps), std::move(memory));
}

}  // namespace pptrain
