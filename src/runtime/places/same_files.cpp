#include "runtime/places/same_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text_table.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "io/checkpoint/data_file.hpp"
#include "probe/host.hpp"
#include "weights/weight_files.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t block_bytes = 256 << 10;
constexpr std::int64_t num_blocks = 256;

/// A token file, and the index by which it would be read otherwise.
void add_data(const std::string& path, std::set<std::string>& files) {
  if (path == synthetic_data) return;
  files.insert(path);
  const fs::path with_index = path;
  if (with_index.extension() == ".h5" || with_index.extension() == ".hdf5") return;
  const fs::path stem = with_index.extension() == ".idx" || with_index.extension() == ".bin"
                            ? fs::path(with_index).replace_extension()
                            : with_index;
  files.insert(stem.string() + ".idx");
  files.insert(stem.string() + ".bin");
}

void add_folder(const std::string& folder, std::set<std::string>& files) {
  for (const char* name : {"config.json", single_weight_file, weight_index_file}) {
    files.insert((fs::path(folder) / name).string());
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".safetensors") files.insert(entry->path().string());
  }
}

/// What tells one file of a host from another, without reading it.
std::string identity_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "absent";
  return fmt::format("{} {} {} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

/// A rank's copies.
struct Copies {
  std::string host;
  std::vector<std::string> identities;  ///< of each file
  std::vector<std::string> digests;     ///< of each file; "": another rank has the same copy
};

/// Texts of all ranks on rank 0.
std::vector<std::vector<std::string>> gather_texts(MPI_Comm world, Waiter& waiter,
                                                   const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> all;
  for (const std::string& of_rank : gather(world, nlohmann::json(texts).dump(), waiter)) {
    all.push_back(nlohmann::json::parse(of_rank).get<std::vector<std::string>>());
  }
  return all;
}

/// For each rank the numbers of the files that it looks at: the first rank that has a copy. A file
/// that is one and the same for all needs no look.
std::vector<std::vector<int>> deal_files(const std::vector<Copies>& ranks) {
  std::vector<std::vector<int>> dealt(ranks.size());
  for (std::size_t file = 0; file < ranks.front().identities.size(); ++file) {
    std::map<std::pair<std::string, std::string>, std::size_t> first;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      first.try_emplace({ranks[rank].host, ranks[rank].identities[file]}, rank);
    }
    if (first.size() == 1) continue;
    for (const auto& [copy, rank] : first) dealt[rank].push_back(static_cast<int>(file));
  }
  return dealt;
}

[[noreturn]] void refuse_copies(const std::string& path, const std::vector<Copies>& ranks,
                                std::size_t file) {
  std::map<std::string, std::vector<int>> by_digest;
  std::vector<std::string> order;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& digest = ranks[rank].digests[file];
    if (!by_digest.contains(digest)) order.push_back(digest);
    by_digest[digest].push_back(static_cast<int>(rank));
  }
  std::string copies;
  for (const std::string& digest : order) {
    const std::vector<int>& some = by_digest[digest];
    copies += fmt::format("{}on {} ({} {}) {}", copies.empty() ? "" : ", ",
                          ranks[static_cast<std::size_t>(some.front())].host,
                          some.size() > 1 ? "ranks" : "rank", ranges(some), digest);
  }
  throw_bad_input(
      {path, "the hosts of the job have different copies", copies,
       "copy the file of one host to all others, or put it on a file system that they share"});
}

/// Every rank's digest is known; those with an equal copy have that of the first one.
void fill_in(std::vector<Copies>& ranks) {
  for (std::size_t file = 0; file < ranks.front().digests.size(); ++file) {
    std::map<std::pair<std::string, std::string>, std::string> known;
    for (Copies& copies : ranks) {
      const std::pair copy = {copies.host, copies.identities[file]};
      if (!copies.digests[file].empty()) known.try_emplace(copy, copies.digests[file]);
      copies.digests[file] = known[copy];
    }
  }
}

void compare(const std::vector<std::string>& paths, const std::vector<Copies>& ranks) {
  for (std::size_t file = 0; file < paths.size(); ++file) {
    const bool equal = std::all_of(ranks.begin(), ranks.end(), [&](const Copies& copies) {
      return copies.digests[file] == ranks.front().digests[file];
    });
    if (!equal) refuse_copies(paths[file], ranks, file);
  }
}

}  // namespace

std::vector<std::string> files_of_hosts(const Config& config) {
  std::set<std::string> files;
  for (const std::string& path : config.data.train) add_data(path, files);
  for (const std::string& path : config.data.validation) add_data(path, files);
  for (const MixPart& part : config.data.mix) {
    for (const std::string& path : part.path) add_data(path, files);
  }
  if (!config.model.from.empty()) add_folder(config.model.from, files);
  if (!config.model.initial_parameters.empty()) files.insert(config.model.initial_parameters);
  return {files.begin(), files.end()};
}

std::string file_digest(const std::string& path) {
  if (identity_of(path) == "absent") return "absent";
  const DataFile file(path, DataFile::Mode::read);
  const std::int64_t size = file.size();
  const bool whole = size <= num_blocks * block_bytes;
  const std::int64_t blocks = whole ? (size + block_bytes - 1) / block_bytes : num_blocks;
  std::vector<char> block;
  std::uint64_t sum = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t begin =
        whole ? b * block_bytes : (size - block_bytes) * b / (num_blocks - 1);
    block.resize(static_cast<std::size_t>(std::min(block_bytes, size - begin)));
    file.read(begin, block.data(), block.size(), "its bytes");
    sum = XXH3_64bits_withSeed(block.data(), block.size(), sum);
  }
  return fmt::format("{} bytes, xxh3 {:016x}", size, sum);
}

void check_same_files(MPI_Comm world, Waiter& waiter, std::vector<std::string> paths) {
  if (size_of(world) == 1) return;
  paths = nlohmann::json::parse(broadcast(world, nlohmann::json(paths).dump(), waiter))
              .get<std::vector<std::string>>();
  if (paths.empty()) return;
  std::vector<std::string> own = {report_host().name};
  for (const std::string& path : paths) own.push_back(identity_of(path));
  std::vector<Copies> ranks;
  for (const std::vector<std::string>& texts : gather_texts(world, waiter, own)) {
    ranks.push_back({texts.front(), {texts.begin() + 1, texts.end()}, {}});
  }
  const std::string dealt = ranks.empty() ? "" : nlohmann::json(deal_files(ranks)).dump();
  const nlohmann::json all_files = nlohmann::json::parse(broadcast(world, dealt, waiter));
  std::vector<std::string> digests(paths.size());
  collectively(world, waiter, [&] {
    for (const int file : all_files.at(static_cast<std::size_t>(rank_in(world)))) {
      digests[static_cast<std::size_t>(file)] = file_digest(paths[static_cast<std::size_t>(file)]);
    }
  });
  const std::vector<std::vector<std::string>> of_ranks = gather_texts(world, waiter, digests);
  collectively(world, waiter, [&] {
    if (rank_in(world) != 0) return;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].digests = of_ranks[rank];
    fill_in(ranks);
    compare(paths, ranks);
  });
}

void check_same_digest(MPI_Comm world, Waiter& waiter, const std::string& path,
                       const std::string& digest) {
  std::vector<Copies> ranks;
  for (const std::vector<std::string>& texts :
       gather_texts(world, waiter, {report_host().name, digest})) {
    ranks.push_back({texts.front(), {}, {texts.back()}});
  }
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0) compare({path}, ranks);
  });
}

}  // namespace pptrain
