#include "runtime/datasets.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "data/mixed_dataset.hpp"
#include "data/synthetic_clusters.hpp"
#include "data/token_dataset.hpp"
#include "io/feature_file.hpp"

namespace pptrain {
namespace {

DatasetOptions token_options(const Config& config, const Model& model, const char* key) {
  DatasetOptions options;
  options.vocabulary_size = model.sample.classes;
  options.sequence_length = model.sample.rows;
  options.global_batch_size = config.training.global_batch_size;
  options.shuffle = config.data.shuffle;
  options.seed = static_cast<std::uint64_t>(config.job.seed);
  options.source = config.where(key);
  options.end_of_document = config.data.end_of_document;
  options.needs_documents = !config.data.attend_across_documents;
  return options;
}

std::unique_ptr<Dataset> open_mix(const Config& config, const Model& model) {
  std::vector<MixSource> sources;
  for (const MixPart& part : config.data.mix)
    sources.push_back({part.path, part.weight, config.where(fmt::format("data.mix[{}]", sources.size()))});
  return std::make_unique<MixedDataset>(sources, token_options(config, model, "data.mix"));
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
    if (model.sample.tokens()) return std::make_unique<TokenDataset>(paths, token_options(config, model, key));
    const FeatureOptions options = {config.training.global_batch_size, config.data.shuffle,
                                    static_cast<std::uint64_t>(config.job.seed)};
    return std::make_unique<FeatureDataset>(open_table(config, paths, key), options);
  };
  Datasets datasets;
  datasets.train = config.data.mix.empty() ? open(config.data.train, "data.train") : open_mix(config, model);
  if (!config.data.validation.empty()) datasets.validation = open(config.data.validation, "data.validation");
  return datasets;
}

}  // namespace pptrain
