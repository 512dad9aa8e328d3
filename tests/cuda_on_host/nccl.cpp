#include "nccl.h"

#include <mpi.h>

#include <cstring>
#include <memory>
#include <vector>

#include "stand_in.hpp"

// A call of a communicator goes on for some questions about its state, and only then is its work in
// the stream; a call meanwhile is a fault. The work is done in its place of the stream, as messages
// between the ranks that nobody blocks in: other streams go on while the peers have not come. Sums
// begin at the last member, unlike those of MpiCommunicator.

using namespace cuda_on_host;

namespace {

constexpr int questions_until_settled = 2;

/// What every rank knows of a member.
struct Member {
  int world_rank;
  int bus;  ///< of its GPU
};

/// In the first bytes of an identity: who made it, and how many it had made.
struct Identity {
  int world_rank;
  int number;
  int tag() const { return 10000 + (world_rank * 128 + number % 128) % 20000; }
};

int num_identities = 0;

enum class Kind { all_reduce, reduce, broadcast, reduce_scatter, all_gather, send, receive };

struct Call {
  Kind kind;
  const char* from;
  char* to;
  std::size_t count;  // of the shorter side
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;  // the root, or the peer
  std::size_t bytes() const {
    return count * (type == ncclUint8 ? 1 : type == ncclFloat32 ? 4 : 2);
  }
};

}  // namespace

struct StandInNcclComm {
  std::vector<Member> members;
  int rank;
  int tag;
  int questions = questions_until_settled;
  std::function<void()> settle;  // what its last call does when it comes to its end
  std::size_t num_open = 0;      // works that have not ended
  bool is_aborted = false;

  int size() const { return static_cast<int>(members.size()); }
  void begin(std::function<void()> then) {
    if (questions > 0) fault("a call of NCCL while the communicator's last one goes on");
    questions = questions_until_settled;
    settle = std::move(then);
  }
};

namespace {

/// The messages of a group of calls.
class Exchange {
 public:
  Exchange(StandInNcclComm& comm, std::vector<Call> calls)
      : comm_(comm), calls_(std::move(calls)) {}

  /// Whether all has come and is where it belongs.
  bool advance() {
    if (comm_.is_aborted) return true;
    if (!started_) start();
    int ended = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &ended, MPI_STATUSES_IGNORE);
    if (ended == 0) return false;
    for (std::size_t c = 0; c < calls_.size(); ++c) finish(calls_[c], values_[c]);
    --comm_.num_open;
    return true;
  }

 private:
  using Values = std::vector<std::vector<char>>;  // of each member

  bool contributes(const Call& call, int member) const {
    switch (call.kind) {
      case Kind::broadcast:
      case Kind::receive: return member == call.root;
      case Kind::send: return member == comm_.rank;
      default: return true;
    }
  }
  bool needs(const Call& call, int member) const {
    switch (call.kind) {
      case Kind::reduce:
      case Kind::send: return member == call.root;
      case Kind::receive: return member == comm_.rank;
      default: return true;
    }
  }
  std::size_t sent(const Call& call) const {
    return call.kind == Kind::reduce_scatter ? call.bytes() * comm_.members.size() : call.bytes();
  }

  void start() {
    started_ = true;
    values_.resize(calls_.size());
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const Call& call = calls_[c];
      Values& values = values_[c];
      values.resize(comm_.members.size());
      for (int m = 0; m < comm_.size(); ++m) {
        if (contributes(call, m)) values[m].resize(sent(call));
      }
      if (contributes(call, comm_.rank))
        values[comm_.rank].assign(call.from, call.from + sent(call));
      for (int m = 0; m < comm_.size(); ++m) {
        if (m == comm_.rank) continue;
        const int peer = comm_.members[m].world_rank;
        const auto bytes = static_cast<int>(sent(call));
        if (contributes(call, comm_.rank) && needs(call, m)) {
          MPI_Isend(values[comm_.rank].data(), bytes, MPI_BYTE, peer, comm_.tag, MPI_COMM_WORLD,
                    new_request());
        }
        if (contributes(call, m) && needs(call, comm_.rank)) {
          MPI_Irecv(values[m].data(), bytes, MPI_BYTE, peer, comm_.tag, MPI_COMM_WORLD,
                    new_request());
        }
      }
    }
  }

  // Open MPI's handles may move.
  MPI_Request* new_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  void finish(const Call& call, const Values& values) const {
    if (!needs(call, comm_.rank)) return;
    switch (call.kind) {
      case Kind::broadcast:
      case Kind::receive: std::memcpy(call.to, values[call.root].data(), call.bytes()); break;
      case Kind::all_gather:
        for (int m = 0; m < comm_.size(); ++m) {
          std::memcpy(call.to + call.bytes() * m, values[m].data(), call.bytes());
        }
        break;
      default: {
        const std::size_t first = call.kind == Kind::reduce_scatter ? call.count * comm_.rank : 0;
        auto* to = reinterpret_cast<float*>(call.to);
        for (std::size_t i = 0; i < call.count; ++i) to[i] = combined(call.op, values, first + i);
      }
    }
  }

  float combined(ncclRedOp_t op, const Values& values, std::size_t i) const {
    const auto of = [&](std::size_t m) {
      return reinterpret_cast<const float*>(values[m].data())[i];
    };
    float total = of(values.size() - 1);
    for (std::size_t m = values.size() - 1; m-- > 0;) {
      const float value = of(m);
      if (op == ncclSum) {
        total += value;
      } else {
        total = total >= value || total != total ? total : value;
      }
    }
    return total;
  }

  StandInNcclComm& comm_;
  std::vector<Call> calls_;
  bool started_ = false;
  std::vector<Values> values_;
  std::vector<MPI_Request> requests_;
};

// State of the group of calls that is open.
int depth = 0;
StandInNcclComm* group_comm = nullptr;
cudaStream_t group_stream = nullptr;
std::vector<Call> group_calls;

void check(const Call& call, const StandInNcclComm* comm) {
  const bool adds = call.kind == Kind::all_reduce || call.kind == Kind::reduce ||
                    call.kind == Kind::reduce_scatter;
  if (adds && call.type != ncclFloat32)
    fault("NCCL adds in a type that loses bits at each addition");
  if (call.count == 0) return;
  const bool sends =
      call.kind != Kind::receive && (call.kind != Kind::broadcast || comm->rank == call.root);
  const bool receives =
      call.kind != Kind::send && (call.kind != Kind::reduce || comm->rank == call.root);
  const std::size_t all = call.bytes() * comm->members.size();
  if (sends &&
      !is_device_memory(call.from, call.kind == Kind::reduce_scatter ? all : call.bytes())) {
    fault("NCCL from what is no device memory");
  }
  if (receives && !is_device_memory(call.to, call.kind == Kind::all_gather ? all : call.bytes())) {
    fault("NCCL to what is no device memory");
  }
}

ncclResult_t add(Kind kind, const void* from, void* to, std::size_t count, ncclDataType_t type,
                 ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  const Call call = {kind, static_cast<const char*>(from), static_cast<char*>(to), count, type, op,
                     root};
  check(call, comm);
  if (group_comm != nullptr && (group_comm != comm || group_stream != stream)) {
    fault("a group of NCCL's calls of several communicators or streams");
  }
  if (const ncclResult_t status = ncclGroupStart(); status != ncclSuccess) return status;
  group_comm = comm;
  group_stream = stream;
  group_calls.push_back(call);
  return ncclGroupEnd();
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  Identity identity = {0, num_identities++};
  MPI_Comm_rank(MPI_COMM_WORLD, &identity.world_rank);
  std::memcpy(id->internal, &identity, sizeof(identity));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0)
    fault("a communicator of NCCL in whose calls a rank may wait without an end");
  Identity identity;
  std::memcpy(&identity, id.internal, sizeof(identity));
  auto made = std::make_unique<StandInNcclComm>();
  made->rank = rank;
  made->tag = identity.tag();
  made->members.resize(static_cast<std::size_t>(ranks));
  Member own = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &own.world_rank);
  int device = 0;
  char bus_id[32] = {};
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  if (cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), device) != cudaSuccess)
    return ncclUnhandledCudaError;
  own.bus = std::stoi(std::string(bus_id).substr(5), nullptr, 16);  // behind the domain
  made->members[rank] = own;
  const auto bytes = static_cast<int>(sizeof(Member) * made->members.size());
  struct Hello {
    int rank;
    Member member;
  } hello = {rank, own};
  if (rank == 0) {
    for (int m = 1; m < ranks; ++m) {
      MPI_Recv(&hello, sizeof(hello), MPI_BYTE, MPI_ANY_SOURCE, made->tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      made->members[hello.rank] = hello.member;
    }
    for (int m = 1; m < ranks; ++m) {
      MPI_Send(made->members.data(), bytes, MPI_BYTE, made->members[m].world_rank, made->tag,
               MPI_COMM_WORLD);
    }
  } else {
    MPI_Send(&hello, sizeof(hello), MPI_BYTE, identity.world_rank, made->tag, MPI_COMM_WORLD);
    MPI_Recv(made->members.data(), bytes, MPI_BYTE, identity.world_rank, made->tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < a; ++b) {
      if (made->members[a].bus == made->members[b].bus)
        return ncclInvalidUsage;  // "Duplicate GPU detected"
    }
  }
  *comm = made.release();
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  comm->begin({});
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->num_open > 0) fault("a communicator of NCCL is destroyed while it works");
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->is_aborted = true;  // what is in a stream still names it: it is never freed
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (comm->questions > 0 && --comm->questions == 0 && comm->settle) {
    const std::function<void()> settle = std::move(comm->settle);
    comm->settle = {};
    settle();
  }
  *state = comm->questions > 0 ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage"
         : result == ncclSuccess    ? "no error"
                                    : "an error of the stand-in";
}

const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0) fault("ncclGroupEnd without ncclGroupStart");
  if (--depth > 0) return ncclSuccess;
  StandInNcclComm* comm = std::exchange(group_comm, nullptr);
  const std::vector<Call> calls = std::exchange(group_calls, {});
  if (comm == nullptr) return ncclSuccess;
  comm->begin([comm, calls, stream = group_stream] {
    ++comm->num_open;
    const auto exchange = std::make_shared<Exchange>(*comm, calls);
    if (enqueue_waiting(stream, [exchange] { return exchange->advance(); }) != cudaSuccess)
      fault("NCCL's stream");
  });
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::all_reduce, from, to, count, type, op, 0, comm, stream);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::reduce, from, to, count, type, op, root, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::broadcast, from, to, count, type, ncclSum, root, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::reduce_scatter, from, to, count, type, op, 0, comm, stream);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::all_gather, from, to, count, type, ncclSum, 0, comm, stream);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::send, from, nullptr, count, type, ncclSum, peer, comm, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(Kind::receive, nullptr, to, count, type, ncclSum, peer, comm, stream);
}
