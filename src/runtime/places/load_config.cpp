#include "runtime/places/load_config.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "cluster/read.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "config/check.hpp"
#include "config/pack.hpp"
#include "config/read.hpp"

namespace pptrain {
namespace {

Emulate file_emulates(const std::string& cluster_file) {
  return ClusterConfig::is_discovered(cluster_file) ? Emulate::no
                                                    : read_cluster(cluster_file).emulate;
}

}  // namespace

double timeout_of(const JobOptions& options) {
  std::error_code ignored;
  const std::filesystem::path path = options.config_path;
  if (path.extension() != ".toml" || !std::filesystem::is_regular_file(path, ignored))
    return JobConfig().timeout;
  double seconds = JobConfig().timeout;
  error_of([&] { seconds = read_config(path, options.overrides).job.timeout; });  // rank 0 tells
                                                                                  // what is wrong
                                                                                  // with it
  return seconds;
}

Emulate emulation_of(MPI_Comm world, Waiter& waiter, const std::string& file) {
  int emulate = 0;
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0) emulate = static_cast<int>(file_emulates(file));
  });
  return static_cast<Emulate>(std::stoi(broadcast(world, std::to_string(emulate), waiter)));
}

Config load_config(MPI_Comm world, Waiter& waiter, const JobOptions& options) {
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    const Config config = read_config(options.config_path, options.overrides);
    if (file_emulates(cluster_file(options, config)) != Emulate::timing) check_trainable(config);
    text = pack_config(config);
  });
  Config config = unpack_config(broadcast(world, text, waiter));
  if (waiter.pulse() != nullptr) waiter.set_timeout(config.job.timeout);
  return config;
}

std::string cluster_file(const JobOptions& options, const Config& config) {
  return options.cluster_path.empty() ? config.cluster.file : options.cluster_path;
}

}  // namespace pptrain
