#include "runtime/replan/state_exchange.hpp"

#include <algorithm>
#include <tuple>

#include "tensor/device_copy.hpp"

namespace pptrain {
namespace {

constexpr std::size_t message_elements = 1 << 18;  // 1 MiB of fp32
constexpr std::size_t messages_in_flight = 8;

std::vector<Runs> runs_of(const std::vector<Elements>& elements) {
  std::vector<Runs> runs;
  for (const Elements& e : elements) runs.push_back(e.runs());
  return runs;
}

std::size_t size_in_bytes(std::size_t elements) { return elements * sizeof(float); }
std::int64_t bytes_of(std::int64_t elements) {
  return elements * static_cast<std::int64_t>(sizeof(float));
}

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
    action(*span.device, span.values + next_value, piece);
    count -= piece;
    next_value += piece;
    if (next_value < span.size) continue;
    ++next_span;
    next_value = 0;
  }
}

void StateExchange::add(const Side& before, const Side& after) {
  const Elements& held = before[rank_];
  const Elements& needed = after[rank_];
  for (const Interval& kept : common_runs(needed.runs(), held.runs())) {
    const float* source = held.at(kept.begin);
    float* target = needed.at(kept.begin);
    const auto size = static_cast<std::size_t>(kept.size());
    if (source != target)
      copy_between(*needed.device(), target, *held.device(), source, size_in_bytes(size));
    bytes_kept_ += bytes_of(kept.size());
  }
  for (const Elements::Copy& copy : needed.copies()) {
    const auto size = static_cast<std::size_t>(copy.elements.size());
    copies_.emplace_back(Span{needed.device(), needed.at(copy.elements.begin), size}, copy.values);
  }
  for (const Move& move : choice_.choose(runs_of(before), runs_of(after))) {
    const auto size = static_cast<std::size_t>(move.elements.size());
    if (move.from == rank_)
      stream(move.from, move.to).add({held.device(), held.at(move.elements.begin), size});
    if (move.to == rank_)
      stream(move.from, move.to).add({needed.device(), needed.at(move.elements.begin), size});
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
  for (const auto& [from, to] : copies_)
    from.device->copy(to, from.values, size_in_bytes(from.size));
  copies_.clear();
}

/// This rank's messages. All ranks go by one order, and the first message in it that has not ended
/// is the oldest or the next one of both its ranks: so it ends, however few are under way.
std::vector<StateExchange::Message> StateExchange::messages() {
  std::vector<Message> messages;
  for (Stream& stream : streams_) {
    for (std::size_t i = 0; i * message_elements < stream.size; ++i)
      messages.push_back({&stream, i});
  }
  const auto place = [this](const Message& m) {
    const int distance = (m.stream->to - m.stream->from + num_ranks_) % num_ranks_;
    return std::make_tuple(m.index, distance, m.stream->from);
  };
  std::sort(messages.begin(), messages.end(),
            [&](const Message& a, const Message& b) { return place(a) < place(b); });
  return messages;
}

void StateExchange::start(Transport& transport, const Message& message) {
  Stream& stream = *message.stream;
  const std::size_t size =
      std::min(message_elements, stream.size - message.index * message_elements);
  InFlight& started = in_flight_.emplace_back();
  started.buffer = Buffer(messages_, size_in_bytes(size));
  started.stream = &stream;
  auto* data = static_cast<float*>(started.buffer.data());
  if (stream.from == rank_) {
    stream.take(size, [&](Device& device, const float* values, std::size_t count) {
      device.download(data, values, size_in_bytes(count));
      data += count;
    });
    started.pending =
        transport.send(RankId(stream.to), 0, started.buffer.data(), size_in_bytes(size));
    bytes_sent_ += bytes_of(static_cast<std::int64_t>(size));
  } else {
    started.pending = transport.receive(RankId(stream.from), 0, data, size_in_bytes(size));
  }
}

void StateExchange::end_oldest(Waiter& waiter, const char* doing) {
  InFlight& oldest = in_flight_.front();
  waiter.wait(*oldest.pending, [doing] { return std::string(doing); });
  if (oldest.stream->to == rank_) {
    const auto* data = static_cast<const float*>(oldest.buffer.data());
    oldest.stream->take(oldest.buffer.bytes() / sizeof(float),
                        [&](Device& device, float* values, std::size_t count) {
                          device.upload(values, data, size_in_bytes(count));
                          data += count;
                        });
    bytes_received_ += static_cast<std::int64_t>(oldest.buffer.bytes());
  }
  in_flight_.pop_front();
}

}  // namespace pptrain
