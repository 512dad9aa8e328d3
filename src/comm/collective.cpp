#include "comm/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <optional>

#include "comm/mpi.hpp"

namespace pptrain {
namespace {

/// Messages to or from several ranks.
class Messages final : public Pending {
 public:
  Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() {
    // Only an error leaves requests behind; the job ends then, but not with a write into freed
    // memory.
    for (Message& message : messages_) {
      if (message.request != MPI_REQUEST_NULL) MPI_Cancel(&message.request);
    }
  }

  /// What MPI fills in for a message to or from `rank`.
  MPI_Request* add(int rank) {
    messages_.push_back({rank, MPI_REQUEST_NULL});
    return &messages_.back().request;
  }

  bool test() override {
    for (; ended_ < messages_.size(); ++ended_) {
      int ended = 0;
      MPI_Test(&messages_[ended_].request, &ended, MPI_STATUS_IGNORE);
      if (ended == 0) return false;
    }
    return true;
  }

  std::string missing() const override {
    std::string ranks;
    for (const Message& message : messages_) {
      int ended = 0;
      MPI_Request_get_status(message.request, &ended, MPI_STATUS_IGNORE);
      if (ended == 0) ranks += fmt::format("{}{}", ranks.empty() ? "rank " : ", ", message.rank);
    }
    return ranks.empty() ? nothing_missing : ranks;
  }

 private:
  struct Message {
    int rank;
    MPI_Request request;
  };
  std::deque<Message> messages_;  // requests stay where MPI was told
  std::size_t ended_ = 0;
};

void wait(Pending& pending, Waiter& waiter, const char* doing) {
  waiter.wait(pending, [doing] { return std::string(doing); });
}

/// MPI counts bytes in an int: more go in pieces.
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr int length_tag = 32001;
constexpr int text_tag = 32002;
constexpr int passed_length_tag = 32003;
constexpr int passed_text_tag = 32004;

/// Calls `message(offset, count)` for the pieces of a text.
template <class Message>
void for_pieces(std::size_t length, const Message& message) {
  for (std::size_t begin = 0; begin < length; begin += most_bytes) {
    message(begin, static_cast<int>(std::min(most_bytes, length - begin)));
  }
}

void send_to_first(MPI_Comm comm, const std::string& text, Waiter& waiter) {
  unsigned long long length = text.size();
  Messages messages;
  MPI_Isend(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, length_tag, comm, messages.add(0));
  for_pieces(text.size(), [&](std::size_t offset, int count) {
    MPI_Isend(text.data() + offset, count, MPI_CHAR, 0, text_tag, comm, messages.add(0));
  });
  wait(messages, waiter, "handing to rank 0");
}

std::vector<std::string> receive_from_all(MPI_Comm comm, const std::string& own, Waiter& waiter) {
  const int size = size_of(comm);
  std::vector<unsigned long long> lengths(static_cast<std::size_t>(size), 0);
  Messages of_lengths;
  for (int rank = 1; rank < size; ++rank) {
    MPI_Irecv(&lengths[rank], 1, MPI_UNSIGNED_LONG_LONG, rank, length_tag, comm,
              of_lengths.add(rank));
  }
  wait(of_lengths, waiter, "gathering from all ranks");
  std::vector<std::string> texts(static_cast<std::size_t>(size));
  texts[0] = own;
  Messages of_texts;
  for (int rank = 1; rank < size; ++rank) {
    texts[rank].resize(lengths[rank]);
    for_pieces(lengths[rank], [&](std::size_t offset, int count) {
      MPI_Irecv(texts[rank].data() + offset, count, MPI_CHAR, rank, text_tag, comm,
                of_texts.add(rank));
    });
  }
  wait(of_texts, waiter, "gathering from all ranks");
  return texts;
}

/// The ranks with which this one shares a broadcast, in a binomial tree below rank 0. `MPI_Ibcast`
/// would not tell which rank does not come.
struct BroadcastTree {
  std::optional<int> before;  ///< from which the text comes; nothing on rank 0
  std::vector<int> behind;    ///< to which it goes, those with most ranks behind them first

  explicit BroadcastTree(MPI_Comm comm) {
    const int rank = rank_in(comm);
    const int size = size_of(comm);
    const int lowest_bit = rank & -rank;
    if (rank > 0) before = rank - lowest_bit;
    for (int bit = 1; (rank == 0 || bit < lowest_bit) && rank + bit < size; bit *= 2)
      behind.push_back(rank + bit);
    std::reverse(behind.begin(), behind.end());
  }
};

/// One message of a broadcast.
struct Passed {
  void* data;
  int count;
  MPI_Datatype type;
  int tag;
};

/// Takes a message from the rank before and hands it on.
void pass_on(MPI_Comm comm, const BroadcastTree& tree, const Passed& m, Waiter& waiter) {
  Messages coming;
  if (tree.before)
    MPI_Irecv(m.data, m.count, m.type, *tree.before, m.tag, comm, coming.add(*tree.before));
  wait(coming, waiter, "broadcast from rank 0");
  Messages going;
  for (const int rank : tree.behind)
    MPI_Isend(m.data, m.count, m.type, rank, m.tag, comm, going.add(rank));
  wait(going, waiter, "broadcast from rank 0");
}

std::string bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> doubles_in(const std::string& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

void quiet_barrier(MPI_Comm comm, Waiter& waiter) {
  gather(comm, std::string(), waiter);
  broadcast(comm, "", waiter);
}

std::string broadcast(MPI_Comm comm, const std::string& text, Waiter& waiter) {
  const BroadcastTree tree(comm);
  unsigned long long length = text.size();
  pass_on(comm, tree, {&length, 1, MPI_UNSIGNED_LONG_LONG, passed_length_tag}, waiter);
  std::string result = text;
  result.resize(length);
  for_pieces(length, [&](std::size_t offset, int count) {
    pass_on(comm, tree, {result.data() + offset, count, MPI_CHAR, passed_text_tag}, waiter);
  });
  return result;
}

std::vector<std::string> gather(MPI_Comm comm, const std::string& text, Waiter& waiter) {
  if (rank_in(comm) == 0) return receive_from_all(comm, text, waiter);
  send_to_first(comm, text, waiter);
  return {};
}

std::vector<double> gather(MPI_Comm comm, const std::vector<double>& values, Waiter& waiter) {
  std::string all;
  for (const std::string& of_rank : gather(comm, bytes_of(values), waiter)) all += of_rank;
  return doubles_in(all);
}

std::vector<double> gather_to_all(MPI_Comm comm, const std::vector<double>& values,
                                  Waiter& waiter) {
  return doubles_in(broadcast(comm, bytes_of(gather(comm, values, waiter)), waiter));
}

std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ExitCode::runtime_failure,
                 format_complaint({"", "the host gave no memory", "",
                                   "use a smaller micro-batch or fewer ranks per host"}));
  } catch (const std::exception& failure) {
    return Error(ExitCode::other, failure.what());
  }
  return std::nullopt;
}

void collectively(MPI_Comm comm, Waiter& waiter, const std::function<void()>& work) {
  std::optional<Error> error;
  {
    const Pulse::Computing computing(waiter.pulse());
    error = error_of(work);
  }
  share_error(comm, waiter, error);
}

void share_error(MPI_Comm comm, Waiter& waiter, const std::optional<Error>& error) {
  const std::string failure =
      error ? static_cast<char>(error->code()) + std::string(error->what()) : "";
  const std::vector<std::string> failures = gather(comm, failure, waiter);
  const auto first = std::find_if(failures.begin(), failures.end(),
                                  [](const std::string& f) { return !f.empty(); });
  const std::string told = broadcast(comm, first == failures.end() ? "" : *first, waiter);
  if (!told.empty())
    throw Error(static_cast<ExitCode>(told[0]), told.substr(1), ThrownBy::all_ranks);
}

}  // namespace pptrain
