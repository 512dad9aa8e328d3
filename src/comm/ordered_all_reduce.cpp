#include "comm/ordered_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace pptrain {
namespace {

/// Below this a second round trip costs more than sending everything to everybody.
constexpr std::size_t whole_bytes = 8 * 1024;

/// total[i] = the sum of what the members hold, in their order, added up in fp32.
template <class ContributionOf>
void sum_in_fp32(int members, const ContributionOf& contribution, BFloat16* total, std::size_t n) {
  constexpr std::size_t piece = 2048;
  float sum[piece];
  for (std::size_t begin = 0; begin < n; begin += piece) {
    const std::size_t count = std::min(piece, n - begin);
    std::fill_n(sum, count, 0.0F);
    for (int member = 0; member < members; ++member) {
      const BFloat16* values = contribution(member) + begin;
      for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
    }
    for (std::size_t i = 0; i < count; ++i) store(total[begin + i], sum[i]);
  }
}

}  // namespace

template <class T>
OrderedAllReduce<T>::OrderedAllReduce(const Channel& channel, Arena& arena, Reduction reduction,
                                      T* data, std::size_t n)
    : comm_(channel.comm),
      reduction_(reduction),
      data_(data),
      tag_(channel.tag),
      messages_(channel.most_bytes) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  if (size_ == 1 || n == 0) {
    phase_ = Phase::ended;
    return;
  }
  const auto count = static_cast<std::int64_t>(n);
  shares_ = n * sizeof(T) > whole_bytes;
  slices_ =
      shares_ ? even_division(count, size_) : std::vector<Interval>(size_, Interval{0, count});
  start_gather(arena);
}

template <class T>
OrderedAllReduce<T>::OrderedAllReduce(const Channel& channel, Arena& arena, Halves halves, T* data,
                                      std::vector<Interval> slices)
    : comm_(channel.comm),
      reduction_(Reduction::sum),
      data_(data),
      tag_(channel.tag),
      slices_(std::move(slices)),
      messages_(channel.most_bytes) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  shares_ = halves != Halves::reduce_scatter;
  if (size_ == 1) {
    phase_ = Phase::ended;
  } else if (halves == Halves::all_gather) {
    start_share();
  } else {
    start_gather(arena);
  }
}

template <class T>
T* OrderedAllReduce<T>::contribution(int member) const {
  if (member == rank_) return data_ + slices_[rank_].begin;
  return static_cast<T*>(buffer_.data()) + slot_ * member;
}

template <class T>
std::size_t OrderedAllReduce<T>::bytes_of(int member) const {
  return static_cast<std::size_t>(slices_[member].size()) * sizeof(T);
}

template <class T>
void OrderedAllReduce<T>::start_gather(Arena& arena) {
  slot_ = static_cast<std::size_t>(slices_[rank_].size());
  buffer_ = Buffer(arena, std::max<std::size_t>(1, slot_) * size_ * sizeof(T));
  // Each member starts with another peer, so that not all send to member 0 first.
  for (int step = 1; step < size_; ++step) {
    const int from = (rank_ + size_ - step) % size_;
    messages_.receive(comm_, from, tag_, contribution(from), slot_ * sizeof(T));
  }
  for (int step = 1; step < size_; ++step) {
    const int to = (rank_ + step) % size_;
    messages_.send(comm_, to, tag_, data_ + slices_[to].begin, bytes_of(to));
  }
}

template <class T>
void OrderedAllReduce<T>::reduce() {
  // The total is formed in the buffer's own slot: the data itself is one of the contributions.
  T* total = static_cast<T*>(buffer_.data()) + slot_ * rank_;
  if constexpr (std::is_same_v<T, BFloat16>) {
    sum_in_fp32(
        size_, [this](int member) { return contribution(member); }, total, slot_);
  } else {
    std::memcpy(total, contribution(0), slot_ * sizeof(T));
    for (int member = 1; member < size_; ++member) {
      const T* values = contribution(member);
      if (reduction_ == Reduction::sum) {
        for (std::size_t i = 0; i < slot_; ++i) total[i] += values[i];
      } else {
        // Written so that a NaN on either side stays.
        for (std::size_t i = 0; i < slot_; ++i)
          total[i] = total[i] >= values[i] || total[i] != total[i] ? total[i] : values[i];
      }
    }
  }
  std::memcpy(data_ + slices_[rank_].begin, total, slot_ * sizeof(T));
}

template <class T>
void OrderedAllReduce<T>::start_share() {
  phase_ = Phase::share;
  for (int step = 1; step < size_; ++step) {
    const int from = (rank_ + size_ - step) % size_;
    messages_.receive(comm_, from, tag_ + 1, data_ + slices_[from].begin, bytes_of(from));
  }
  for (int step = 1; step < size_; ++step) {
    const int to = (rank_ + step) % size_;
    messages_.send(comm_, to, tag_ + 1, data_ + slices_[rank_].begin, bytes_of(rank_));
  }
}

template <class T>
bool OrderedAllReduce<T>::test() {
  if (phase_ == Phase::gather && messages_.have_ended()) {
    reduce();
    if (shares_) {
      start_share();
    } else {
      phase_ = Phase::ended;
    }
  }
  if (phase_ == Phase::share && messages_.have_ended()) phase_ = Phase::ended;
  return phase_ == Phase::ended;
}

template <class T>
std::string OrderedAllReduce<T>::missing() const {
  return fmt::format("an all-reduce with rank {}", messages_.missing_in_world(comm_));
}

template class OrderedAllReduce<float>;
template class OrderedAllReduce<double>;
template class OrderedAllReduce<BFloat16>;

}  // namespace pptrain
