#include "runtime/replan/held_elements.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"

namespace pptrain {

void Elements::add(const StatePart& part, const ParameterSpec& parameter) {
  PPTRAIN_ASSERT(runs_.empty() || device_ == part.device, "parts of quantity {} in two memories",
                 part.quantity);
  device_ = part.device;
  float* values = part.values;
  for (const Interval& run : elements_of(part, parameter)) {
    add(run, values);
    if (values != nullptr) values += run.size();
  }
}

void Elements::add(Interval run, float* values) {
  if (runs_.empty() || runs_.back().end <= run.begin) {  // as the runs of one part come
    runs_.push_back(run);
    values_.push_back(values);
    return;
  }
  const auto place = [&](std::int64_t element) {
    return values == nullptr ? nullptr : values + element - run.begin;
  };
  for (const Interval& again : common_runs({run}, runs_))
    copies_.push_back({again, place(again.begin)});
  for (const Interval& fresh : without({run}, runs_)) {
    const auto behind = std::upper_bound(runs_.begin(), runs_.end(), fresh);
    values_.insert(values_.begin() + (behind - runs_.begin()), place(fresh.begin));
    runs_.insert(behind, fresh);
  }
}

std::int64_t Elements::size() const {
  std::int64_t size = 0;
  for (const Interval& run : runs_) size += run.size();
  return size;
}

Elements Elements::within(Interval interval) const {
  Elements clipped;
  clipped.device_ = device_;
  const auto first =
      std::upper_bound(runs_.begin(), runs_.end(), interval.begin,
                       [](std::int64_t e, const Interval& run) { return e < run.end; });
  for (auto run = first; run != runs_.end() && run->begin < interval.end; ++run) {
    const Interval common = intersect(*run, interval);
    float* values = values_[static_cast<std::size_t>(run - runs_.begin())];
    clipped.runs_.push_back(common);
    clipped.values_.push_back(values == nullptr ? nullptr : values + (common.begin - run->begin));
  }
  for (const Copy& copy : copies_) {
    const Interval common = intersect(copy.elements, interval);
    if (common.empty()) continue;
    const std::int64_t offset = common.begin - copy.elements.begin;
    clipped.copies_.push_back({common, copy.values == nullptr ? nullptr : copy.values + offset});
  }
  return clipped;
}

float* Elements::at(std::int64_t element) const {
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), element,
                       [](std::int64_t e, const Interval& run) { return e < run.begin; });
  const auto run = behind - runs_.begin() - 1;
  return values_[run] + (element - runs_[run].begin);
}

HeldParts::HeldParts(MPI_Comm world, Waiter& waiter, const std::vector<StatePart>& own) {
  const std::vector<std::string> of_ranks = gather(world, pack_parts(own), waiter);
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

std::vector<Elements> HeldParts::take(int parameter, int quantity, const ParameterSpec& spec) {
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

}  // namespace pptrain
