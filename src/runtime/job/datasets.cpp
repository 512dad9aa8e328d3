#include "runtime/job/datasets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "data/masked_dataset.hpp"
#include "data/mixed_dataset.hpp"
#include "data/synthetic_clusters.hpp"
#include "data/synthetic_drawings.hpp"
#include "data/synthetic_masked_text.hpp"
#include "data/synthetic_pairs.hpp"
#include "data/token_dataset.hpp"
#include "io/samples/drawing_file.hpp"
#include "io/samples/feature_file.hpp"
#include "io/samples/image_file.hpp"
#include "io/samples/masked_text_file.hpp"
#include "io/samples/pair_file.hpp"

namespace pptrain {
namespace {

const std::string validation_key = "data.validation";

DatasetOptions token_options(const Config& config, const Model& model, const std::string& key) {
  DatasetOptions options;
  options.vocabulary_size = model.sample.classes;
  options.sequence_length = model.sample.rows;
  // An evaluation fills a batch up, so that one window is enough.
  options.global_batch_size = key == validation_key ? 1 : config.training.global_batch_size;
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
    sources.push_back(
        {part.path, part.weight, config.where(fmt::format("data.mix[{}]", sources.size()))});
  return std::make_unique<MixedDataset>(sources, token_options(config, model, "data.mix"));
}

/// Whether a batch may take the last samples of a file and go on with the first.
bool wraps(const Model& model) {
  return model.sample.has_unlabelled() || model.sample.is_image() || model.sample.has_drawing();
}

/// Samples that are made as they are needed.
std::unique_ptr<FeatureTable> synthetic_table(const Config& config, const Model& model,
                                              const std::string& key) {
  const SampleShape& sample = model.sample;
  const auto seed = static_cast<std::uint64_t>(config.job.seed);
  if (sample.has_drawing()) {
    const ImageShape& image = sample.drawing;
    return std::make_unique<SyntheticDrawings>(SyntheticDrawingOptions{
        sample.features, image.channels, image.height, image.width, seed, key});
  }
  if (!sample.has_unlabelled())
    return std::make_unique<SyntheticClusters>(
        ClusterOptions{sample.features, sample.classes, seed, key});
  if (sample.classes < 2) {
    throw_bad_input({config.where(key), "synthetic text of one token",
                     "one stands where a token is hidden, or behind the end of a source",
                     "use a vocabulary of 2 tokens or more"});
  }
  if (sample.has_source()) {
    return std::make_unique<SyntheticPairs>(
        SyntheticPairOptions{sample.source, sample.rows, sample.classes, seed, key});
  }
  return std::make_unique<SyntheticMaskedText>(
      SyntheticTextOptions{sample.rows, sample.classes, sample.token_types, seed, key});
}

std::unique_ptr<FeatureTable> open_table(const Config& config, const Model& model,
                                         const std::vector<std::string>& paths,
                                         const std::string& key) {
  if (paths.size() != 1) {
    throw_bad_input({config.where(key), fmt::format("{} names {} files", key, paths.size()),
                     "the samples of a classifier, text with labels, and pairs of texts are in one",
                     "name an HDF5 file, or write \"synthetic\""});
  }
  const SampleShape& sample = model.sample;
  const std::string &path = paths.front(), where = config.where(key);
  if (path == synthetic_data) return synthetic_table(config, model, key);
  const std::int64_t least =
      wraps(model) || key == validation_key ? 1 : config.training.global_batch_size;
  if (sample.has_source())
    return std::make_unique<PairFile>(
        path, PairFileOptions{sample.source, sample.rows, sample.classes, least, where});
  if (sample.has_unlabelled()) {
    return std::make_unique<MaskedTextFile>(
        path, MaskedTextOptions{sample.rows, sample.classes, sample.token_types, least, where,
                                !config.data.mask_token.has_value()});
  }
  if (sample.has_drawing())
    return std::make_unique<DrawingFile>(
        path, DrawingFileOptions{sample.features, sample.drawing, least, where});
  if (sample.is_image()) {
    const ImageAugmentation augmentation = {config.data.crop_padding, config.data.flip,
                                            static_cast<std::uint64_t>(config.job.seed)};
    return std::make_unique<ImageFile>(
        path, ImageFileOptions{sample.image, sample.classes, least, where, augmentation});
  }
  return std::make_unique<FeatureFile>(
      path, FeatureFileOptions{sample.features, sample.classes, least, where});
}

bool is_hdf5(const std::string& path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

/// Whether samples are windows of token files.
bool takes_windows(const Config& config, const Model& model,
                   const std::vector<std::string>& paths) {
  return model.sample.predicts_next() ||
         (config.data.mask_token && !std::any_of(paths.begin(), paths.end(), is_hdf5));
}

/// The samples of a text, some of its tokens hidden where the model is to find them.
std::unique_ptr<Dataset> with_masks(std::unique_ptr<Dataset> text, const Config& config,
                                    const Model& model) {
  const DataConfig& data = config.data;
  if (!data.mask_token) return text;
  return std::make_unique<MaskedDataset>(
      std::move(text),
      MaskOptions{static_cast<std::uint32_t>(*data.mask_token), data.mask_probability,
                  data.unmasked_tokens, model.sample.rows, model.sample.classes,
                  config.training.global_batch_size, static_cast<std::uint64_t>(config.job.seed)});
}

/// Synthetic text comes with what is hidden in it.
void refuse_synthetic(const Config& config, const std::vector<std::string>& paths,
                      const std::string& key) {
  if (std::find(paths.begin(), paths.end(), synthetic_data) == paths.end()) return;
  throw_bad_input(
      {config.where(key), "synthetic text is masked already",
       "with mask_token positions of token files or of an HDF5 file are hidden as they are read",
       "leave mask_token out, or name a file"});
}

/// Tokens of an HDF5 file would be those of its bytes.
void refuse_mixed_hdf5(const Config& config) {
  for (std::size_t i = 0; i < config.data.mix.size(); ++i) {
    for (const std::string& path : config.data.mix[i].path) {
      if (!is_hdf5(path)) continue;
      throw_bad_input({config.where(fmt::format("data.mix[{}]", i)), path + " is no token file",
                       "only these are mixed", "name token files, or the HDF5 file in train"});
    }
  }
}

}  // namespace

std::vector<TokenOrigin> Datasets::origins() const {
  std::vector<TokenOrigin> all = train->origins();
  const std::vector<TokenOrigin> held_back =
      validation ? validation->origins() : std::vector<TokenOrigin>();
  all.insert(all.end(), held_back.begin(), held_back.end());
  return all;
}

Datasets open_datasets(const Config& config, const Model& model) {
  const auto open = [&](const std::vector<std::string>& paths,
                        const std::string& key) -> std::unique_ptr<Dataset> {
    if (config.data.mask_token) refuse_synthetic(config, paths, key);
    if (takes_windows(config, model, paths)) {
      return with_masks(std::make_unique<TokenDataset>(paths, token_options(config, model, key)),
                        config, model);
    }
    const FeatureOptions options = {config.training.global_batch_size, config.data.shuffle,
                                    static_cast<std::uint64_t>(config.job.seed), wraps(model)};
    return with_masks(
        std::make_unique<FeatureDataset>(open_table(config, model, paths, key), options), config,
        model);
  };
  refuse_mixed_hdf5(config);
  Datasets datasets;
  datasets.train = config.data.mix.empty() ? open(config.data.train, "data.train")
                                           : with_masks(open_mix(config, model), config, model);
  if (!config.data.validation.empty())
    datasets.validation = open(config.data.validation, validation_key);
  check_same_tokenizer(datasets.origins());
  return datasets;
}

}  // namespace pptrain
