#include "model/build/check_samples.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace pptrain {
namespace {

void check_end_of_document(const Config& config, const Model& model) {
  const AutoInt end = config.data.end_of_document;
  if (!end || *end < model.sample.classes) return;
  throw_bad_input(
      {config.where("data.end_of_document"), fmt::format("end_of_document = {} is no token", *end),
       fmt::format("the vocabulary of {} admits 0 to {}", model.name, model.sample.classes - 1),
       "give the token that the tokenizer puts behind a document"});
}

void check_source_length(const Config& config, const Model& model) {
  if (!config.training.source_length || model.sample.has_source()) return;
  throw_bad_input(
      {config.where("training.source_length"),
       fmt::format("source_length = {} without a source", *config.training.source_length),
       fmt::format("a {} has no encoder beside a decoder", model.name), "leave the key out"});
}

/// What is about text of which every token predicts the next.
void check_text_keys(const Config& config, const Model& model) {
  if (model.sample.predicts_next()) return;
  if (!config.data.mix.empty() && !config.data.mask_token) {
    throw_bad_input(
        {config.where("data.mix[0]"), "data.mix is for texts in which tokens predict the next one",
         fmt::format("the samples of a {} are in one HDF5 file, each by itself", model.name),
         "name the file in [data] train"});
  }
  if (config.data.attend_across_documents) return;
  throw_bad_input({config.where("data.attend_across_documents"),
                   "attend_across_documents = false without documents",
                   fmt::format("a {} knows no documents within a sample", model.name),
                   "leave the key out"});
}

void check_is_token(const Config& config, const Model& model, const std::string& key,
                    std::int64_t token) {
  if (token < model.sample.classes) return;
  throw_bad_input(
      {config.where("data." + key), fmt::format("{} of {} is no token", token, key),
       fmt::format("the vocabulary of {} admits 0 to {}", model.name, model.sample.classes - 1),
       "give tokens of the tokenizer that the model was made with"});
}

/// Checks the keys that say which positions of a text are hidden.
void check_masks(const Config& config, const Model& model) {
  const DataConfig& data = config.data;
  if (!data.mask_token) {
    if (data.unmasked_tokens.empty()) return;
    throw_bad_input({config.where("data.unmasked_tokens"), "unmasked_tokens without mask_token",
                     "nothing is hidden here: an HDF5 file says itself what is",
                     "name the mask_token of the tokenizer"});
  }
  if (!model.sample.has_unlabelled() || model.sample.has_source()) {
    throw_bad_input({config.where("data.mask_token"), fmt::format("mask_token for {}", model.name),
                     "this model is not trained to find hidden tokens", "leave the key out"});
  }
  check_is_token(config, model, "mask_token", *data.mask_token);
  for (const std::int64_t token : data.unmasked_tokens)
    check_is_token(config, model, "unmasked_tokens", token);
}

/// What is about images.
void check_augmentation(const Config& config, const Model& model) {
  const ImageShape& image = model.sample.image;
  const bool moves = config.data.crop_padding > 0;
  if (!moves && !config.data.flip) return;
  const std::string key = moves ? "data.crop_padding" : "data.flip";
  if (!model.sample.is_image()) {
    throw_bad_input({config.where(key), fmt::format("{} for {}", key, model.name),
                     "its samples are no images", "leave the key out"});
  }
  if (config.data.train == std::vector{synthetic_data}) {
    throw_bad_input({config.where(key), fmt::format("{} with train = \"synthetic\"", key),
                     "images that are made are not moved", "leave the key out, or name a file"});
  }
  if (config.data.crop_padding < std::min(image.height, image.width)) return;
  throw_bad_input({config.where(key), fmt::format("crop_padding = {}", config.data.crop_padding),
                   fmt::format("nothing would be left of some images of {} x {} pixels",
                               image.height, image.width),
                   "use a few pixels, an eighth of a side or so"});
}

void check_image_size(const Config& config, const Model& model) {
  if (config.model.image_size == 0 || model.sample.is_image()) return;
  throw_bad_input({config.where("model.image_size"),
                   fmt::format("image_size = {} for {}", config.model.image_size, model.name),
                   "its samples are no images", "leave the key out"});
}

/// What changes a loss over classes.
void check_loss(const Config& config, const Model& model) {
  const bool smooths = config.training.label_smoothing > 0.0;
  if (!model.sample.has_drawing() || (!smooths && config.training.z_loss == 0.0)) return;
  const std::string key = smooths ? "label_smoothing" : "z_loss";
  throw_bad_input({config.where("training." + key), fmt::format("{} for {}", key, model.name),
                   "its loss is a mean square over pixels, without classes", "leave the key out"});
}

}  // namespace

void check_samples(const Config& config, const Model& model) {
  check_end_of_document(config, model);
  check_text_keys(config, model);
  check_masks(config, model);
  check_augmentation(config, model);
  check_image_size(config, model);
  check_source_length(config, model);
  check_loss(config, model);
}

}  // namespace pptrain
