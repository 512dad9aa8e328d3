#include "schedule/pipeline_shape.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"

namespace pptrain {
namespace {

void refuse(const std::string& problem, const std::string& reason, const std::string& suggestion) {
  throw_bad_input({"schedule", problem, reason, suggestion});
}

void check_size(const char* what, std::size_t size, int expected) {
  if (size == 0 || size == static_cast<std::size_t>(expected)) return;
  refuse(fmt::format("{} {} for a pipeline that has {}", size, what, expected),
         "each has one or none is given", "give one each");
}

bool costs_something(double seconds) { return std::isfinite(seconds) && seconds >= 0.0; }

}  // namespace

double backward_bytes(const std::vector<StoredBytes>& chunks) {
  double needed = 0.0;
  double left = 0.0;  // by B beyond what it frees
  double weight = 0.0;
  for (const StoredBytes& chunk : chunks) {
    needed = std::max(needed, chunk.backward);
    left = std::max(left, chunk.after - chunk.before);
    weight = std::max(weight, chunk.weight);
  }
  return std::max(needed, left + weight);
}

double least_room(const std::vector<StoredBytes>& chunks) {
  double stored = 0.0;
  double needed = backward_bytes(chunks);
  for (const StoredBytes& chunk : chunks) {
    stored += chunk.before;
    needed = std::max(needed, chunk.forward);
  }
  return stored + needed;
}

int PipelineShape::rank_of(int chunk) const { return rank_of_chunk(placement, ranks, chunk); }

int PipelineShape::chunk_of(int rank, int v) const {
  if (placement == ChunkPlacement::v_shape) return v == 0 ? rank : 2 * ranks - 1 - rank;
  return v * ranks + rank;
}

Cut PipelineShape::cut_after(int chunk) const {
  return cuts.empty() || rank_of(chunk) == rank_of(chunk + 1) ? Cut() : cuts[chunk];
}

std::vector<StoredBytes> PipelineShape::stored_of(int rank) const {
  std::vector<StoredBytes> own;
  for (int v = 0; v < chunks_per_rank; ++v) own.push_back(stored[chunk_of(rank, v)]);
  return own;
}

double PipelineShape::rank_seconds(int rank) const {
  double sum = 0.0;
  for (int v = 0; v < chunks_per_rank; ++v) sum += seconds_of(chunk_of(rank, v)).sum();
  return sum;
}

void check_shape(const PipelineShape& shape) {
  if (shape.ranks < 1)
    refuse(fmt::format("{} ranks", shape.ranks), "a pipeline has at least one", "add stages");
  if (shape.chunks_per_rank < 1) {
    refuse(fmt::format("{} chunks per rank", shape.chunks_per_rank), "each rank has at least one",
           "1 is the plain pipeline");
  }
  if (shape.micro_batches < 1) {
    refuse(fmt::format("{} micro-batches", shape.micro_batches), "an iteration has at least one",
           "use a smaller micro-batch or a larger global batch");
  }
  if (shape.unit < 0)
    refuse(fmt::format("unit {}", shape.unit), "a unit has micro-batches", "0 lets it be chosen");
  if (shape.placement == ChunkPlacement::v_shape && shape.chunks_per_rank != 2) {
    refuse(fmt::format("{} chunks per rank", shape.chunks_per_rank), "a V visits each rank twice",
           "use 2");
  }
  check_size("task times", shape.seconds.size(), shape.num_chunks());
  check_size("cuts", shape.cuts.size(), shape.num_chunks() - 1);
  check_size("all-reduces", shape.reduce_seconds.size(), shape.num_chunks());
  check_size("memory limits", shape.most_stored.size(), shape.ranks);
  check_size("rooms", shape.room.size(), shape.ranks);
  check_size("stored bytes", shape.stored.size(), shape.num_chunks());
  const bool times =
      std::all_of(shape.seconds.begin(), shape.seconds.end(), [](const TaskSeconds& s) {
        return costs_something(s.forward) && costs_something(s.backward_input) &&
               costs_something(s.backward_weight);
      });
  const bool cuts = std::all_of(shape.cuts.begin(), shape.cuts.end(), [](const Cut& cut) {
    return costs_something(cut.forward.seconds) && costs_something(cut.forward.busy) &&
           costs_something(cut.backward.seconds) && costs_something(cut.backward.busy);
  });
  if (!times || !cuts ||
      !std::all_of(shape.reduce_seconds.begin(), shape.reduce_seconds.end(), costs_something)) {
    refuse("a task or a cut takes a time that is negative or not finite", "time passes forwards",
           "correct the profile");
  }
}

}  // namespace pptrain
