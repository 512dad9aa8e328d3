#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "runtime/job/job.hpp"
#include "support/catch.hpp"

namespace pptrain::test {

namespace fs = std::filesystem;

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// A folder with a job in it that all ranks share; rank 0 makes and removes it.
class JobFolder {
 public:
  explicit JobFolder(const std::string& more = "") {
    set_verbosity(Verbosity::quiet);
    char name[64] = "/tmp/pptrain-job-XXXXXX";
    if (world_rank() == 0) {
      REQUIRE(mkdtemp(name) != nullptr);
      std::ofstream text(std::string(name) + "/text.txt");
      for (int i = 0; i < 400; ++i)
        text << "the quick brown fox jumps over the lazy dog " << i % 7 << "\n";
      std::ofstream(std::string(name) + "/job.toml") << job(name) << more;
    }
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = name;
  }
  ~JobFolder() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) fs::remove_all(path_);
  }

  JobOptions options(std::vector<std::string> overrides = {}) const {
    JobOptions options;
    options.config_path = path_ + "/job.toml";
    options.overrides = std::move(overrides);
    return options;
  }
  const std::string& path() const { return path_; }
  /// The only run below the output folder.
  fs::path run(const std::string& output = "runs") const {
    std::vector<fs::path> runs;
    for (const auto& entry : fs::directory_iterator(path_ + "/" + output + "/job")) {
      if (!entry.is_symlink()) runs.push_back(entry.path());  // not `latest`
    }
    REQUIRE(runs.size() == 1);
    return runs.front();
  }

 private:
  static std::string job(const std::string& folder) {
    return "[job]\nname = \"job\"\ntimeout = \"10 min\"\noutput = \"" + folder +
           "/runs\"\n"
           "[model]\nlayers = 2\nhidden_size = 32\nheads = 2\nvocabulary_size = 256\n"
           "[data]\ntrain = \"text.txt\"\nvalidation = \"text.txt\"\n"
           "[training]\nsteps = 12\nsequence_length = 16\nglobal_batch_size = 8\n"
           "[optimizer]\nlearning_rate = 1e-2\n[metrics]\nevaluation_interval = "
           "5\n[profile]\ncache = false\n";
  }
  std::string path_;
};

inline std::vector<double> read_series(const fs::path& file, const std::string& name) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
  REQUIRE(f >= 0);
  const hid_t dataset = H5Dopen2(f, name.c_str(), H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  const hid_t space = H5Dget_space(dataset);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  CHECK(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(f);
  return values;
}

}  // namespace pptrain::test
