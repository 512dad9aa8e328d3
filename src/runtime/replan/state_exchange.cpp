#include "runtime/replan/state_exchange.hpp"

#include <algorithm>
#include <tuple>

namespace pptrain {
namespace {

constexpr std::size_t message_elements = 1 << 18;  // 1 MiB of fp32
constexpr std::size_t messages_in_flight = 8;

std::vector<Runs> runs_of(const std::vector<Elements>& elements) {
  std::vector<Runs> runs;
  for (const Elements& e : elements) runs.push_back(e.runs());
  return runs;
}

std::int64_t bytes_of(std::int64_t elements) { return elements * static_cast<std::int64_t>(sizeof(float)); }

}  // namespace

void StateExchange::Stream::add(Span span) {
  spans.push_back(span);
  size += span.size;
}

template <class Action>
void StateExchange::Stream::take(std::size_t count, const Action& action) {
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

void StateExchange::add(const std::vector<Elements>& before, const std::vector<Elements>& after) {
  for (const Interval& kept : common_runs(after[rank_].runs(), before[rank_].runs())) {
    const float* source = before[rank_].at(kept.begin);
    float* target = after[rank_].at(kept.begin);
    if (source != target) std::copy_n(source, kept.size(), target);
    bytes_kept_ += bytes_of(kept.size());
  }
  for (const Elements::Copy& copy : after[rank_].copies()) {
    const Span first = {after[rank_].at(copy.elements.begin), static_cast<std::size_t>(copy.elements.size())};
    copies_.emplace_back(first, copy.values);
  }
  for (const Move& move : choice_.choose(runs_of(before), runs_of(after))) {
    const auto size = static_cast<std::size_t>(move.elements.size());
    if (move.from == rank_) stream(move.from, move.to).add({before[rank_].at(move.elements.begin), size});
    if (move.to == rank_) stream(move.from, move.to).add({after[rank_].at(move.elements.begin), size});
  }
}

StateExchange::Stream& StateExchange::stream(int from, int to) {
  for (Stream& stream : streams_) {
    if (stream.from == from && stream.to == to) return stream;
  }
  Stream& stream = streams_.emplace_back();
  stream.from = from;
  stream.to = to;
  return stream;
}

void StateExchange::run(Transport& transport, Waiter& waiter, const char* doing) {
  for (const Message& message : messages()) {
    if (in_flight_.size() == messages_in_flight) end_oldest(waiter, doing);
    start(transport, message);
  }
  while (!in_flight_.empty()) end_oldest(waiter, doing);
  streams_.clear();
  for (const auto& [from, to] : copies_) std::copy_n(from.values, from.size, to);
  copies_.clear();
}

/// This rank's messages. All ranks go by one order, and the first message in it that has not ended is the oldest
/// or the next one of both its ranks: so it ends, however few are under way.
std::vector<StateExchange::Message> StateExchange::messages() {
  std::vector<Message> messages;
  for (Stream& stream : streams_) {
    for (std::size_t i = 0; i * message_elements < stream.size; ++i) messages.push_back({&stream, i});
  }
  const auto place = [this](const Message& m) {
    const int distance = (m.stream->to - m.stream->from + num_ranks_) % num_ranks_;
    return std::make_tuple(m.index, distance, m.stream->from);
  };
  std::sort(messages.begin(), messages.end(), [&](const Message& a, const Message& b) { return place(a) < place(b); });
  return messages;
}

void StateExchange::start(Transport& transport, const Message& message) {
  Stream& stream = *message.stream;
  const std::size_t size = std::min(message_elements, stream.size - message.index * message_elements);
  InFlight& started = in_flight_.emplace_back();
  started.buffer.resize(size);
  started.stream = &stream;
  float* data = started.buffer.data();
  if (stream.from == rank_) {
    stream.take(size, [&](const float* values, std::size_t count) { data = std::copy_n(values, count, data); });
    started.pending = transport.send(RankId(stream.to), 0, started.buffer.data(), size * sizeof(float));
    bytes_sent_ += bytes_of(static_cast<std::int64_t>(size));
  } else {
    started.pending = transport.receive(RankId(stream.from), 0, data, size * sizeof(float));
  }
}

void StateExchange::end_oldest(Waiter& waiter, const char* doing) {
  InFlight& oldest = in_flight_.front();
  waiter.wait(*oldest.pending, [doing] { return std::string(doing); });
  if (oldest.stream->to == rank_) {
    const float* data = oldest.buffer.data();
    oldest.stream->take(oldest.buffer.size(), [&](float* values, std::size_t count) {
      std::copy_n(data, count, values);
      data += count;
    });
    bytes_received_ += bytes_of(static_cast<std::int64_t>(oldest.buffer.size()));
  }
  in_flight_.pop_front();
}

}  // namespace pptrain
