#include "runtime/generate/mpi_text_team.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pptrain {
namespace {

bool holds(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// Messages of tokens; those between parts have the part's number behind it.
constexpr int token_tag = 0;
int tag_behind(std::size_t part) { return 1 + static_cast<int>(part); }

}  // namespace

MpiTextTeam::MpiTextTeam(MPI_Comm world, Waiter& waiter, const TextDivision& division)
    : waiter_(waiter),
      rank_(rank_in(world)),
      num_ranks_(size_of(world)),
      division_(division),
      transport_(world) {
  waiter_.name_place([this] { return fmt::format("rank {}, continuing a text", rank_); });
  for (const RankedLayers& part : division_) {
    parts_.push_back({part.layers, nullptr, part.shards, part.division});
    if (!holds(part.ranks, rank_)) continue;
    const int number = static_cast<int>(parts_.size());
    groups_.push_back(std::make_unique<MpiCommunicator>(
        world, part.ranks, number,
        fmt::format("layers {} to {}", part.layers.begin, part.layers.end - 1), arena_, waiter_));
    parts_.back().group = groups_.back().get();
  }
}

MpiTextTeam::~MpiTextTeam() { waiter_.name_place({}); }

/// The first member has the rows as all others do, and sends them.
void MpiTextTeam::pass_on(std::size_t part, Tensor& x, std::size_t rows, std::size_t columns) {
  const std::vector<int>& from = division_[part].ranks;
  const std::vector<int>& to = division_[part + 1].ranks;
  std::vector<int> without;
  std::copy_if(to.begin(), to.end(), std::back_inserter(without),
               [&](int rank) { return !holds(from, rank); });
  if (rank_ == from.front()) send(without, tag_behind(part), x.f32(), x.bytes());
  if (holds(without, rank_)) {
    x = Tensor(arena_, rows, columns);
    receive(from.front(), tag_behind(part), x.f32(), x.bytes());
  }
  if (!has_share(part + 1)) x.reset();
}

std::uint32_t MpiTextTeam::agree(std::uint32_t token) {
  const int speaker = division_.back().ranks.front();
  if (rank_ != speaker) {
    receive(speaker, token_tag, &token, sizeof(token));
    return token;
  }
  std::vector<int> others;
  for (int rank = 0; rank < num_ranks_; ++rank) {
    if (rank != speaker) others.push_back(rank);
  }
  send(others, token_tag, &token, sizeof(token));
  return token;
}

void MpiTextTeam::send(const std::vector<int>& ranks, int tag, const void* data,
                       std::size_t bytes) {
  std::vector<PendingPtr> messages;
  for (const int rank : ranks) messages.push_back(transport_.send(RankId(rank), tag, data, bytes));
  for (const PendingPtr& message : messages)
    waiter_.wait(*message, [] { return std::string("sending"); });
}

void MpiTextTeam::receive(int rank, int tag, void* data, std::size_t bytes) {
  const PendingPtr message = transport_.receive(RankId(rank), tag, data, bytes);
  waiter_.wait(*message, [&] { return fmt::format("a message of rank {}", rank); });
}

}  // namespace pptrain
