#include "probe/message_costs.hpp"

#include <algorithm>

#include "base/timing.hpp"
#include "kernels/gemm.hpp"

namespace pptrain {
namespace {

constexpr int tag = 0;

/// 25 MFLOP, about what a part of a small layer computes between two waits. Ranks that others keep
/// from the core for a while wait differently from ranks that do nothing else.
class Burst {
 public:
  Burst() : a_(arena_, rows, inner), b_(arena_, inner, columns), c_(arena_, rows, columns) {
    std::fill_n(a_.f32(), a_.size(), 0.5F);
    std::fill_n(b_.f32(), b_.size(), 0.25F);
  }
  void run() const {
    for (int i = 0; i < products; ++i)
      host_gemm().multiply(Transpose::no, a_, Transpose::no, b_, c_);
  }

 private:
  static constexpr int products = 48;
  static constexpr std::size_t rows = 64;
  static constexpr std::size_t inner = 64;
  static constexpr std::size_t columns = 64;
  Arena arena_;
  Tensor a_;
  Tensor b_;
  Tensor c_;
};

/// Sends `count` messages to the peer and receives as many.
class Exchange {
 public:
  Exchange(Transport& transport, Waiter& waiter, int peer, int count, double bytes)
      : transport_(transport),
        waiter_(waiter),
        peer_(peer),
        count_(static_cast<std::size_t>(count)),
        bytes_(static_cast<std::size_t>(bytes)),
        sent_(count_ * bytes_, 1),
        received_(count_ * bytes_) {}

  void run() {
    std::vector<PendingPtr> pending;
    for (std::size_t i = 0; i < count_; ++i) {
      pending.push_back(transport_.receive(peer_, tag, received_.data() + i * bytes_, bytes_));
    }
    for (std::size_t i = 0; i < count_; ++i) {
      pending.push_back(transport_.send(peer_, tag, sent_.data() + i * bytes_, bytes_));
    }
    for (const PendingPtr& message : pending)
      waiter_.wait(*message, [] { return std::string("measuring messages"); });
  }

 private:
  Transport& transport_;
  Waiter& waiter_;
  RankId peer_;
  std::size_t count_;
  std::size_t bytes_;
  std::vector<char> sent_;
  std::vector<char> received_;
};

/// CPU seconds of a step each time that it was done.
struct Samples {
  std::vector<double> seconds;

  template <class Work>
  void add(int rounds, const Work& work) {
    work();  // what came before has left the ranks and their caches otherwise
    for (int i = 0; i < rounds; ++i) {
      const double start = thread_cpu_seconds();
      work();
      seconds.push_back(thread_cpu_seconds() - start);
    }
  }
};

}  // namespace

ExchangeSeconds measure_exchanges(Transport& transport, Waiter& waiter, int peer,
                                  ExchangeOver over) {
  constexpr int passes = 4;  // one after another, so that all of them see what else happens on the
                             // machine
  constexpr int rounds = 8;
  if (peer < 0) return {};
  const Burst burst;
  constexpr int many = ExchangeSeconds::many_messages;
  const double short_bytes =
      over == ExchangeOver::memory ? ExchangeSeconds::short_bytes : ExchangeSeconds::network_bytes;
  Exchange one_message(transport, waiter, peer, 1, short_bytes);
  Exchange many_messages(transport, waiter, peer, many, short_bytes);
  Exchange large_messages(transport, waiter, peer, many, ExchangeSeconds::large_bytes);
  Samples alone, one, more, large;
  for (int pass = 0; pass < passes; ++pass) {
    alone.add(rounds, [&] { burst.run(); });
    const auto add = [&](Samples& samples, Exchange& exchange) {
      samples.add(rounds, [&] {
        burst.run();
        exchange.run();
      });
    };
    add(one, one_message);
    add(more, many_messages);
    if (over == ExchangeOver::memory) add(large, large_messages);
  }
  const double without = median(alone.seconds);
  const double many_seconds = median(more.seconds) - without;
  return {median(one.seconds) - without, many_seconds,
          over == ExchangeOver::memory ? median(large.seconds) - without : many_seconds};
}

MessageCosts message_costs(const std::vector<ExchangeSeconds>& ranks) {
  ExchangeSeconds mean;
  for (const ExchangeSeconds& rank : ranks) {
    const auto share = 1.0 / static_cast<double>(ranks.size());
    mean.one += share * rank.one;
    mean.many += share * rank.many;
    mean.large += share * rank.large;
  }
  // one = message + wait + short copy, many = k message + wait + k short copies, large likewise.
  constexpr double k = ExchangeSeconds::many_messages;
  constexpr double more_bytes = ExchangeSeconds::large_bytes - ExchangeSeconds::short_bytes;
  constexpr double shortest = 1e-9;
  const double copy = std::max(shortest, mean.large - mean.many) / (k * more_bytes);  // of a byte
  const double both = std::max(shortest, mean.many - mean.one) / (k - 1.0);  // a message with its
                                                                             // copy
  const double message = std::max(0.0, both - copy * ExchangeSeconds::short_bytes);
  return {{message, std::max(0.0, mean.one - both)}, 1.0 / copy};
}

}  // namespace pptrain
