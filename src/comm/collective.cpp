#include "comm/collective.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

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

/// MPI counts bytes in an int: more go in pieces.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// Appends what each rank gives to its text on rank 0.
void append_gathered(MPI_Comm comm, std::string_view own, std::vector<std::string>& texts) {
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(texts.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  std::vector<int> offsets(texts.size(), 0);
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(texts.empty() ? 0 : static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, comm);
  for (std::size_t r = 0; r < texts.size(); ++r) texts[r].append(all, offsets[r], lengths[r]);
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
  for (std::size_t begin = 0; begin < length; begin += most_bytes) {
    const std::size_t bytes = std::min(most_bytes, static_cast<std::size_t>(length) - begin);
    CollectivePending piece;
    MPI_Ibcast(result.data() + begin, static_cast<int>(bytes), MPI_CHAR, 0, comm, &piece.request);
    wait(piece, waiter, "broadcast from rank 0");
  }
  return result;
}

std::vector<std::string> gather(MPI_Comm comm, const std::string& text) {
  unsigned long long longest = text.size();
  MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
  const auto size = static_cast<std::size_t>(size_of(comm));
  std::vector<std::string> texts(rank_in(comm) == 0 ? size : 0);
  const std::size_t most = std::max<std::size_t>(1, most_bytes / size);
  for (std::size_t begin = 0; begin < longest; begin += most) {
    append_gathered(comm, std::string_view(text).substr(std::min(begin, text.size()), most), texts);
  }
  return texts;
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
