#pragma once

#include <filesystem>
#include <string>

#include "comm/mpi.hpp"
#include "io/checkpoint/checkpoint_folder.hpp"
#include "job_folder.hpp"
#include "runtime/checkpoint/block_transfer.hpp"
#include "runtime/checkpoint/resume.hpp"
#include "support/catch.hpp"

namespace pptrain::test {

/// A folder that all ranks share; rank 0 makes and removes it.
class SharedFolder {
 public:
  SharedFolder() {
    char name[64] = "/tmp/pptrain-checkpoint-XXXXXX";
    if (world_rank() == 0) REQUIRE(mkdtemp(name) != nullptr);
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name;
  }
  ~SharedFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) fs::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The checkpoint at `path` with its datasets in the order that a job of the model has them in.
inline Resumed saved_datasets(const Model& model, const Config& config, const std::string& path) {
  Resumed from;
  from.path = path;
  from.datasets = datasets_of(model, config.optimizer);
  const CheckpointHead head = read_checkpoint_head(path);
  for (CheckpointDataset& dataset : from.datasets) {
    for (const CheckpointDataset& there : head.datasets) {
      if (there.path == dataset.path) dataset = there;
    }
    CHECK(dataset.offset > 0);
  }
  CHECK(head.datasets.size() == from.datasets.size());
  return from;
}

}  // namespace pptrain::test
