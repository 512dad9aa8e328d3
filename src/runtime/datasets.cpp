#include "runtime/datasets.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "data/synthetic_clusters.hpp"
#include "data/token_dataset.hpp"
#include "io/feature_file.hpp"

namespace pptrain {
namespace {

std::unique_ptr<Dataset> open_tokens(const Config& config, const Model& model, const std::vector<std::string>& paths,
                                     const char* key) {
  DatasetOptions options;
  options.vocabulary_size = model.sample.classes;
  options.sequence_length = model.sample.rows;
  options.global_batch_size = config.training.global_batch_size;
  options.shuffle = config.data.shuffle;
  options.seed = static_cast<std::uint64_t>(config.job.seed);
  options.source = config.where(key);
  return std::make_unique<TokenDataset>(paths, options);
}

std::unique_ptr<FeatureTable> open_table(const Config& config, const std::vector<std::string>& paths,
                                         const std::string& key) {
  if (paths.size() != 1) {
    throw_bad_input({config.where(key), fmt::format("{} names {} files", key, paths.size()),
                     "the samples of a classifier are in one", "name an HDF5 file, or write \"synthetic\""});
  }
  if (paths.front() == synthetic_data) {
    return std::make_unique<SyntheticClusters>(ClusterOptions{config.model.input_size, config.model.classes,
                                                              static_cast<std::uint64_t>(config.job.seed), key});
  }
  return std::make_unique<FeatureFile>(paths.front(),
                                       FeatureFileOptions{config.model.input_size, config.model.classes,
                                                          config.training.global_batch_size, config.where(key)});
}

}  // namespace

Datasets open_datasets(const Config& config, const Model& model) {
  const auto open = [&](const std::vector<std::string>& paths, const char* key) -> std::unique_ptr<Dataset> {
    if (model.sample.tokens()) return open_tokens(config, model, paths, key);
    const FeatureOptions options = {config.training.global_batch_size, config.data.shuffle,
                                    static_cast<std::uint64_t>(config.job.seed)};
    return std::make_unique<FeatureDataset>(open_table(config, paths, key), options);
  };
  Datasets datasets;
  datasets.train = open(config.data.train, "data.train");
  if (!config.data.validation.empty()) datasets.validation = open(config.data.validation, "data.validation");
  return datasets;
}

}  // namespace pptrain
