#include "runtime/checkpoint/checkpointer.hpp"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "runtime/checkpoint/block_transfer.hpp"

namespace pptrain {
namespace {

/// A disk slower than this is taken for one that does not answer.
constexpr double least_bytes_per_second = 4e6;

double bytes_of(const Model& model, const OptimizerConfig& optimizer) {
  double elements = 0.0;
  for (const CheckpointDataset& dataset : datasets_of(model, optimizer)) {
    elements += static_cast<double>(dataset.num_elements());
  }
  return elements * sizeof(float);
}

std::string pack_offsets(const std::vector<CheckpointDataset>& datasets) {
  std::string packed;
  for (const CheckpointDataset& dataset : datasets) {
    packed.append(reinterpret_cast<const char*>(&dataset.offset), sizeof(dataset.offset));
  }
  return packed;
}

void unpack_offsets(const std::string& packed, std::vector<CheckpointDataset>& datasets) {
  for (std::size_t d = 0; d < datasets.size(); ++d) {
    std::memcpy(&datasets[d].offset, packed.data() + d * sizeof(std::int64_t),
                sizeof(std::int64_t));
  }
}

}  // namespace

Checkpointer::Checkpointer(Job job, Alarm& alarm)
    : job_(std::move(job)),
      bytes_(bytes_of(job_.model, job_.config.optimizer)),
      waiter_(job_.config.job.timeout + bytes_ / least_bytes_per_second, job_.core_use),
      transport_(job_.world) {
  const int rank = rank_in(job_.world);
  waiter_.listen(&alarm);
  waiter_.name_place([rank] { return fmt::format("rank {}, gathering a checkpoint", rank); });
}

WrittenCheckpoint Checkpointer::save(const CheckpointState& state, Session& session) {
  const auto start = std::chrono::steady_clock::now();
  const CheckpointFolder folder(job_.run);
  try {
    write(state, session);
  } catch (const Error&) {
    std::error_code ignored;
    if (rank_in(job_.world) == 0) std::filesystem::remove(folder.partial_file(state.step), ignored);
    throw;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {folder.file(state.step), bytes_, seconds};
}

void Checkpointer::remove_old() const {
  if (rank_in(job_.world) == 0) CheckpointFolder(job_.run).remove_old(job_.config.checkpoint.keep);
}

void Checkpointer::write(const CheckpointState& state, Session& session) {
  const bool names = rank_in(job_.world) == 0;
  const CheckpointFolder folder(job_.run);
  const std::string path = folder.partial_file(state.step);
  std::vector<CheckpointDataset> datasets = datasets_of(job_.model, job_.config.optimizer);
  collectively(job_.world, waiter_, [&] {
    if (!names) return;
    folder.prepare();
    lay_out_checkpoint(path, datasets);
  });
  unpack_offsets(broadcast(job_.world, pack_offsets(datasets), waiter_), datasets);
  BlockTransfer(job_.world, transport_, waiter_, job_.nodes, job_.model, session)
      .save(path, datasets);
  collectively(job_.world, waiter_, [&] {
    if (!names) return;
    seal_checkpoint(path, datasets, state);
    folder.publish(state.step);
  });
}

}  // namespace pptrain
