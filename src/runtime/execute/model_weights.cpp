#include "runtime/execute/model_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "model/build/file_layout.hpp"
#include "model/families/families.hpp"

namespace pptrain {
namespace {

/// The name behind its first part, or the whole where it has one part.
std::string without_first_part(const std::string& name) {
  const std::size_t point = name.find('.');
  const bool is_last = point == std::string::npos || name.find('.', point + 1) == std::string::npos;
  return is_last ? name : name.substr(point + 1);
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return join(sizes);
}

bool is_count(const ParameterSpec& spec) { return spec.buffer && spec.shape.empty(); }

const Family& family_named(const std::string& type) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& f) { return f.type == type; });
  PPTRAIN_ASSERT(found != families().end(), "no family {}", type);
  return *found;
}

}  // namespace

ModelWeights::ModelWeights(const std::string& folder, const Model& model) : files_(folder) {
  const std::vector<ParameterSpec> parameters = logical_parameters(model);
  const std::string& first = file_name(parameters.front());
  bare_ = !files_.has(first) && files_.has(without_first_part(first));
  check_names(model);
  for (const ParameterSpec& spec : stored_tensors(model)) check(spec);
  check_unused(model);
  check_second_output(model);
}

/// Models with parts for images have tensors of them, and most the text model's behind a word more.
void ModelWeights::check_names(const Model& model) const {
  const std::vector<WeightTensor>& tensors = files_.tensors();
  const auto other = std::find_if(tensors.begin(), tensors.end(), [](const WeightTensor& tensor) {
    return tensor.name.find("language_model.") != std::string::npos ||
           tensor.name.starts_with("visual.");
  });
  if (other == tensors.end()) return;
  throw_bad_input(
      {files_.file_of(other->name),
       fmt::format("{} belongs to a model with other parts than its {}", other->name, model.name),
       "the text model alone can be planned, and trained from random weights or those of a folder "
       "of its own",
       "write such a folder (docs/models.md, \"Models with other parts than text\"), or set "
       "initial = "
       "\"random\""});
}

std::string ModelWeights::name_of(const ParameterSpec& spec) const {
  const std::string name = bare_ ? without_first_part(file_name(spec)) : file_name(spec);
  if (files_.has(name)) return name;
  // Files that once were TensorFlow's call what a norm multiplies and adds so.
  for (const auto& [ours, theirs] : {std::pair{".weight", ".gamma"}, {".bias", ".beta"}}) {
    if (!name.ends_with(std::string("LayerNorm") + ours)) continue;
    const std::string other = name.substr(0, name.rfind('.')) + theirs;
    if (files_.has(other)) return other;
  }
  return name;
}

/// Files that are older than the count of batches lack it.
bool ModelWeights::lacks_count(const ParameterSpec& spec) const {
  return is_count(spec) && !files_.has(name_of(spec));
}

void ModelWeights::check(const ParameterSpec& spec) {
  const std::string name = name_of(spec);
  if (lacks_count(spec)) return;
  if (is_count(spec)) {
    files_.count(name);
    return;
  }
  const WeightTensor& tensor = files_.tensor(name);
  if (names_.empty() || names_.back() != name) names_.push_back(name);
  files_.read(name, {0, 0}, nullptr);  // refuses types that no element can be read from
  if (tensor.shape == file_shape(spec)) return;
  throw_bad_input({files_.file_of(name),
                   fmt::format("{} has the shape ({})", name, text_of(tensor.shape)),
                   fmt::format("config.json beside it asks for ({})", text_of(file_shape(spec))),
                   "use the config.json that belongs to these weights"});
}

void ModelWeights::check_unused(const Model& model) const {
  std::set<std::string> used;
  for (const ParameterSpec& spec : stored_tensors(model)) used.insert(name_of(spec));
  std::vector<std::string> ignored = family_named(model.name).not_needed;
  // A tied output layer may be there a second time.
  if (!model.shared_parameters().empty())
    ignored.insert(ignored.end(), {"lm_head.weight", "embed_out.weight"});
  for (const WeightTensor& tensor : files_.tensors()) {
    const bool needless = std::any_of(ignored.begin(), ignored.end(), [&](const std::string& end) {
      return tensor.name.ends_with(end);
    });
    if (used.contains(tensor.name) || needless) continue;
    throw_bad_input({files_.file_of(tensor.name),
                     fmt::format("the model has no use for the tensor {}", tensor.name),
                     fmt::format("config.json describes a {} of {} layers without it", model.name,
                                 model.num_layers()),
                     "use the config.json that belongs to these weights"});
  }
}

bool ModelWeights::are_equal(const std::string& name, const std::string& other,
                             std::int64_t elements) const {
  constexpr std::int64_t most = 1 << 16;
  std::vector<float> a(static_cast<std::size_t>(std::min(most, elements))), b(a);
  for (std::int64_t first = 0; first < elements; first += most) {
    const Interval part = {first, std::min(first + most, elements)};
    files_.read(name, part, a.data());
    files_.read(other, part, b.data());
    if (!std::equal(a.begin(), a.begin() + part.size(), b.begin())) return false;
  }
  return true;
}

void ModelWeights::check_second_output(const Model& model) const {
  const std::vector<SharedParameter> shared = model.shared_parameters();
  const auto tied =
      std::find_if(shared.begin(), shared.end(), [&](const SharedParameter& parameter) {
        return parameter.layers.back() + 1 == model.num_layers();
      });
  if (tied == shared.end()) return;
  const ParameterSpec& spec = *tied->spec;
  for (const std::string name : {"lm_head.weight", "embed_out.weight"}) {
    if (!files_.has(name) || name == name_of(spec)) continue;
    if (files_.tensor(name).shape == file_shape(spec) &&
        are_equal(name, name_of(spec), spec.size()))
      continue;
    throw_bad_input(
        {files_.file_of(name), fmt::format("{} is another tensor than {}", name, name_of(spec)),
         "config.json beside it says that the output layer is tied to the table of tokens",
         "where the output is one of its own, write \"tie_word_embeddings\": false into "
         "config.json, or "
         "\"scale_decoder_outputs\": false where that stands there"});
  }
}

namespace {

/// Refuses numbers from which no training goes on. `first`: the place of the first one in the
/// tensor; `stride`: how far the next is behind it.
void check_finite(std::span<const float> values, std::int64_t first, std::int64_t stride,
                  const std::string& where) {
  if (all_finite(values.data(), values.size())) return;
  const auto lost =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  throw_bad_input(
      {where, fmt::format("element {} is {}", first + (lost - values.begin()) * stride, *lost),
       "training and text would go on from what is no number",
       "fetch or write the weights again; a training that leaves such numbers has diverged"});
}

}  // namespace

void ModelWeights::read(const ParameterSpec& spec, Interval elements, float* out) const {
  const std::string name = name_of(spec);
  if (is_count(spec)) {
    *out = lacks_count(spec) ? 0.0F : static_cast<float>(files_.count(name));
    return;
  }
  for_each_run(spec, elements, [&](const LayoutRun& run) {
    float* to = out + (run.ours.begin - elements.begin);
    if (run.stride == 1) {
      files_.read(name, {run.theirs, run.theirs + run.ours.size()}, to);
    } else {
      for (std::int64_t i = 0; i < run.ours.size(); ++i) {
        const std::int64_t place = run.theirs + i * run.stride;
        files_.read(name, {place, place + 1}, to + i);
      }
    }
    check_finite({to, static_cast<std::size_t>(run.ours.size())}, run.theirs, run.stride,
                 fmt::format("{}: tensor \"{}\"", files_.file_of(name), name));
  });
}

void ModelWeights::check_values() const {
  constexpr std::int64_t most = 1 << 16;
  std::vector<float> values(most);
  for (const std::string& name : names_) {
    const std::int64_t elements = num_elements(files_.tensor(name));
    for (std::int64_t first = 0; first < elements; first += most) {
      const Interval part = {first, std::min(first + most, elements)};
      files_.read(name, part, values.data());
      check_finite({values.data(), static_cast<std::size_t>(part.size())}, first, 1,
                   fmt::format("{}: tensor \"{}\"", files_.file_of(name), name));
    }
  }
}

}  // namespace pptrain
