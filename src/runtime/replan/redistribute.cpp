#include "runtime/replan/redistribute.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi_communicator.hpp"
#include "runtime/replan/state_moves.hpp"
#include "runtime/replan/training_state.hpp"

namespace pptrain {
namespace {

constexpr std::size_t message_elements = 1 << 18;  // 1 MiB of fp32
constexpr std::size_t messages_in_flight = 8;

/// A run of values in the memory of this rank.
struct Span {
  float* values = nullptr;
  std::size_t size = 0;
};

/// All that one rank sends to another, in the order of parameters, quantities and elements.
struct Stream {
  int from = 0;
  int to = 0;
  std::vector<Span> spans;
  std::size_t size = 0;
  std::size_t next_span = 0;  ///< where the next message begins or goes on
  std::size_t next_value = 0;

  void add(Span span) {
    spans.push_back(span);
    size += span.size;
  }
  /// Hands the next `count` values out in pieces.
  template <class Action>
  void take(std::size_t count, const Action& action) {
    while (count > 0) {
      const Span& span = spans[next_span];
      const std::size_t piece = std::min(count, span.size - next_value);
      action(span.values + next_value, piece);
      count -= piece;
      next_value += piece;
      if (next_value < span.size) continue;
      ++next_span;
      next_value = 0;
    }
  }
};

/// What one rank holds of one quantity of a parameter, with the place of each element.
class Elements {
 public:
  void add(const StatePart& part, const ParameterSpec& parameter) {
    float* values = part.values;
    for (const Interval& run : elements_of(part, parameter)) {
      runs_.push_back(run);
      if (values != nullptr) {
        values_.push_back(values);
        values += run.size();
      }
    }
  }
  const Runs& runs() const { return runs_; }
  /// The element lies in one run, of this rank.
  float* at(std::int64_t element) const {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), element,
                                         [](std::int64_t e, const Interval& run) { return e < run.begin; });
    const auto run = behind - runs_.begin() - 1;
    return values_[run] + (element - runs_[run].begin);
  }

 private:
  Runs runs_;
  std::vector<float*> values_;
};

/// The parts that all ranks hold before or after. This rank's have values.
class AllParts {
 public:
  /// Collective.
  AllParts(MPI_Comm world, Waiter& waiter, const std::vector<StatePart>& own) {
    const std::vector<std::string> of_ranks = gather(world, pack_parts(own));
    std::string lengths;
    std::string all;
    for (const std::string& packed : of_ranks) {
      const std::uint64_t length = packed.size();
      lengths.append(reinterpret_cast<const char*>(&length), sizeof(length));
      all += packed;
    }
    lengths = broadcast(world, lengths, waiter);
    all = broadcast(world, all, waiter);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < lengths.size(); i += sizeof(std::uint64_t)) {
      std::uint64_t length = 0;
      std::memcpy(&length, lengths.data() + i, sizeof(length));
      of_rank_.push_back(unpack_parts(all.substr(offset, length)));
      offset += length;
    }
    of_rank_[static_cast<std::size_t>(rank_in(world))] = own;
    next_.assign(of_rank_.size(), 0);
  }

  int num_quantities() const {
    int most = 0;
    for (const auto& parts : of_rank_) {
      for (const StatePart& part : parts) most = std::max(most, part.quantity + 1);
    }
    return most;
  }

  /// What each rank has of one quantity of a parameter; to be asked in increasing order.
  std::vector<Elements> take(int parameter, int quantity, const ParameterSpec& spec) {
    std::vector<Elements> elements(of_rank_.size());
    for (std::size_t r = 0; r < of_rank_.size(); ++r) {
      const std::vector<StatePart>& parts = of_rank_[r];
      for (std::size_t& i = next_[r]; i < parts.size(); ++i) {
        if (parts[i].parameter != parameter || parts[i].quantity != quantity) break;
        elements[r].add(parts[i], spec);
      }
    }
    return elements;
  }

 private:
  std::vector<std::vector<StatePart>> of_rank_;
  std::vector<std::size_t> next_;
};

std::vector<Runs> runs_of(const std::vector<Elements>& elements) {
  std::vector<Runs> runs;
  for (const Elements& e : elements) runs.push_back(e.runs());
  return runs;
}

/// One rank's part of a redistribution: what it copies, and its streams.
class Redistribution {
 public:
  Redistribution(int rank, int num_ranks) : rank_(rank), num_ranks_(num_ranks) {}

  void plan(const Model& model, const std::vector<int>& nodes, AllParts& before, AllParts& after) {
    const std::vector<ParameterSpec> parameters = logical_parameters(model);
    const int quantities = std::max(before.num_quantities(), after.num_quantities());
    MoveChoice choice(nodes);
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      for (int q = 0; q < quantities; ++q)
        add(choice, before.take(p, q, parameters[p]), after.take(p, q, parameters[p]));
    }
  }

  void run(Transport& transport, Waiter& waiter) {
    for (const Message& message : messages()) {
      if (in_flight_.size() == messages_in_flight) end_oldest(waiter);
      start(transport, message);
    }
    while (!in_flight_.empty()) end_oldest(waiter);
  }

  const Redistributed& result() const { return result_; }

 private:
  /// Part `index` of a stream.
  struct Message {
    Stream* stream;
    std::size_t index;
  };
  struct InFlight {
    std::vector<float> buffer;
    Stream* stream;
    PendingPtr pending;
  };

  void add(MoveChoice& choice, const std::vector<Elements>& before, const std::vector<Elements>& after) {
    for (const Interval& kept : common_runs(after[rank_].runs(), before[rank_].runs())) {
      std::copy_n(before[rank_].at(kept.begin), kept.size(), after[rank_].at(kept.begin));
      result_.bytes_kept += bytes_of(kept.size());
    }
    for (const Move& move : choice.choose(runs_of(before), runs_of(after))) {
      const auto size = static_cast<std::size_t>(move.elements.size());
      if (move.from == rank_) stream(move.from, move.to).add({before[rank_].at(move.elements.begin), size});
      if (move.to == rank_) stream(move.from, move.to).add({after[rank_].at(move.elements.begin), size});
    }
  }

  Stream& stream(int from, int to) {
    for (Stream& stream : streams_) {
      if (stream.from == from && stream.to == to) return stream;
    }
    Stream& stream = streams_.emplace_back();
    stream.from = from;
    stream.to = to;
    return stream;
  }

  /// This rank's messages. All ranks go by one order, and the first message in it that has not ended is the oldest
  /// or the next one of both its ranks: so it ends, however few are under way.
  std::vector<Message> messages() {
    std::vector<Message> messages;
    for (Stream& stream : streams_) {
      for (std::size_t i = 0; i * message_elements < stream.size; ++i) messages.push_back({&stream, i});
    }
    const auto place = [this](const Message& m) {
      const int distance = (m.stream->to - m.stream->from + num_ranks_) % num_ranks_;
      return std::make_tuple(m.index, distance, m.stream->from);
    };
    std::sort(messages.begin(), messages.end(),
              [&](const Message& a, const Message& b) { return place(a) < place(b); });
    return messages;
  }

  void start(Transport& transport, const Message& message) {
    Stream& stream = *message.stream;
    const std::size_t size = std::min(message_elements, stream.size - message.index * message_elements);
    InFlight& started = in_flight_.emplace_back();
    started.buffer.resize(size);
    started.stream = &stream;
    float* data = started.buffer.data();
    if (stream.from == rank_) {
      stream.take(size, [&](const float* values, std::size_t count) { data = std::copy_n(values, count, data); });
      started.pending = transport.send(RankId(stream.to), 0, started.buffer.data(), size * sizeof(float));
      result_.bytes_sent += bytes_of(static_cast<std::int64_t>(size));
    } else {
      started.pending = transport.receive(RankId(stream.from), 0, data, size * sizeof(float));
    }
  }

  void end_oldest(Waiter& waiter) {
    InFlight& oldest = in_flight_.front();
    waiter.wait(*oldest.pending, [] { return std::string("moving training state to another plan"); });
    if (oldest.stream->to == rank_) {
      const float* data = oldest.buffer.data();
      oldest.stream->take(oldest.buffer.size(), [&](float* values, std::size_t count) {
        std::copy_n(data, count, values);
        data += count;
      });
      result_.bytes_received += bytes_of(static_cast<std::int64_t>(oldest.buffer.size()));
    }
    in_flight_.pop_front();
  }

  static std::int64_t bytes_of(std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(float)); }

  int rank_;
  int num_ranks_;
  std::deque<Stream> streams_;
  std::deque<InFlight> in_flight_;
  Redistributed result_;
};

}  // namespace

Redistributed redistribute(MPI_Comm world, Waiter& waiter, const Model& model, const std::vector<int>& nodes,
                           Session& from, Session& to) {
  const auto start = std::chrono::steady_clock::now();
  AllParts before(world, waiter, held_state(model, from));
  AllParts after(world, waiter, held_state(model, to));
  MpiTransport transport(world);
  Redistribution redistribution(rank_in(world), size_of(world));
  collectively(world, waiter, [&] { redistribution.plan(model, nodes, before, after); });
  redistribution.run(transport, waiter);
  if (to.device() != nullptr) {
    for (const auto& part : to.device()->parts()) part->parameters().refresh_copies();
  }
  quiet_barrier(world, waiter);
  Redistributed result = redistribution.result();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pptrain
