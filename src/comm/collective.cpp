#include "comm/collective.hpp"

#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "comm/mpi.hpp"

namespace pptrain {
namespace {

/// A non-blocking MPI collective.
class CollectivePending final : public Pending {
 public:
  bool test() override {
    int ended = 0;
    MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    return ended != 0;
  }
  std::string missing() const override { return "another rank"; }

  MPI_Request request = MPI_REQUEST_NULL;
};

void wait(CollectivePending& pending, Waiter& waiter, const char* doing) {
  waiter.wait(pending, [doing] { return std::string(doing); });
}

}  // namespace

void quiet_barrier(MPI_Comm comm, Waiter& waiter) {
  CollectivePending pending;
  MPI_Ibarrier(comm, &pending.request);
  wait(pending, waiter, "meeting all ranks");
}

std::string broadcast(MPI_Comm comm, const std::string& text, Waiter& waiter) {
  unsigned long long length = text.size();
  CollectivePending size;
  MPI_Ibcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, comm, &size.request);
  wait(size, waiter, "broadcast from rank 0");
  std::string result = text;
  result.resize(length);
  CollectivePending body;
  MPI_Ibcast(result.data(), static_cast<int>(length), MPI_CHAR, 0, comm, &body.request);
  wait(body, waiter, "broadcast from rank 0");
  return result;
}

std::vector<std::string> gather(MPI_Comm comm, const std::string& text) {
  const int size = size_of(comm);
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(size);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  if (rank_in(comm) != 0) {
    MPI_Gatherv(text.data(), length, MPI_CHAR, nullptr, nullptr, nullptr, MPI_CHAR, 0, comm);
    return {};
  }
  std::vector<int> offsets(size, 0);
  std::partial_sum(lengths.begin(), lengths.end() - 1, offsets.begin() + 1);
  std::string all(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, comm);
  std::vector<std::string> result;
  for (int r = 0; r < size; ++r) result.push_back(all.substr(offsets[r], lengths[r]));
  return result;
}

std::vector<double> gather(MPI_Comm comm, const std::vector<double>& values, Waiter& waiter) {
  const int count = static_cast<int>(values.size());
  const bool receives = rank_in(comm) == 0;
  std::vector<double> all(receives ? values.size() * static_cast<std::size_t>(size_of(comm)) : 0);
  CollectivePending pending;
  MPI_Igather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm, &pending.request);
  wait(pending, waiter, "gathering figures of all ranks");
  return all;
}

void collectively(MPI_Comm comm, Waiter& waiter, const std::function<void()>& work) {
  std::optional<Error> error;
  try {
    work();
  } catch (const Error& e) {
    error = e;
  }
  // The smallest rank that failed; the number of ranks when none did.
  const int mine = error ? rank_in(comm) : size_of(comm);
  int failed = 0;
  CollectivePending smallest;
  MPI_Iallreduce(&mine, &failed, 1, MPI_INT, MPI_MIN, comm, &smallest.request);
  wait(smallest, waiter, "agreeing on an error");
  if (failed == size_of(comm)) return;
  int header[2] = {0, 0};
  std::string text;
  if (failed == rank_in(comm)) {
    text = error->what();
    header[0] = static_cast<int>(error->code());
    header[1] = static_cast<int>(text.size());
  }
  MPI_Bcast(header, 2, MPI_INT, failed, comm);
  text.resize(header[1]);
  MPI_Bcast(text.data(), header[1], MPI_CHAR, failed, comm);
  throw Error(static_cast<ExitCode>(header[0]), text);
}

}  // namespace pptrain
