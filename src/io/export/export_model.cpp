#include "io/export/export_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/open_file.hpp"
#include "io/checkpoint/checkpoint_model.hpp"
#include "io/checkpoint/parameters.hpp"
#include "io/export/export_tokenizer.hpp"
#include "model/build/file_layout.hpp"
#include "model/families/families.hpp"
#include "model/families/text_part.hpp"
#include "weights/weight_writer.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* generation_settings = "generation_config.json";
constexpr const char* chat_template = "chat_template.jinja";

/// What a folder may hold beside weights and config.json.
constexpr const char* companions[] = {
    generation_settings, "tokenizer.json", "tokenizer_config.json", "tokenizer.model",
    "vocab.json",        "merges.txt",     chat_template,           "special_tokens_map.json",
    "added_tokens.json",
};

constexpr const char* free_room = "free some room, or name another folder";

/// The companions that a folder has; none where there is no folder.
ModelTexts companions_of(const std::string& folder) {
  ModelTexts texts;
  if (folder.empty()) return texts;
  for (const char* name : companions) {
    if (std::optional<std::string> text = read_companion(folder, name))
      texts.emplace_back(name, std::move(*text));
  }
  return texts;
}

/// Files that are written out before the first of them is in its place.
class FilesOfFolder {
 public:
  FilesOfFolder(const std::string& folder, const ModelTexts& texts) {
    for (const auto& [name, text] : texts) {
      files_.push_back(std::make_unique<AtomicFile>((fs::path(folder) / name).string(), free_room));
      files_.back()->write(std::as_bytes(std::span(text)));
    }
    for (const auto& file : files_) file->flush();
  }
  void commit() {
    for (const auto& file : files_) file->commit();
  }

 private:
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

/// A folder that goes again, where it was made for nothing.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(path) {
    std::error_code ignored;
    is_new_ = !fs::exists(path, ignored);
  }
  ~NewFolder() {
    std::error_code stays;  // one with files in it
    if (is_new_) fs::remove(path_, stays);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  std::string path_;
  bool is_new_ = false;
};

/// The config.json of a GPT-2 that the configuration's own keys describe. llama.cpp's converter
/// reads n_ctx, the old name of n_positions; transformers before 4.56 reads torch_dtype, and later
/// versions do so too.
nlohmann::ordered_json gpt2_config(const Config& config) {
  const ModelConfig& m = config.model;
  nlohmann::ordered_json end_of_document = nullptr;
  if (config.data.end_of_document) end_of_document = *config.data.end_of_document;
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"attn_pdrop", 0.0},
          {"bos_token_id", nullptr},
          {"eos_token_id", end_of_document},
          {"embd_pdrop", 0.0},
          {"resid_pdrop", 0.0},
          {"layer_norm_epsilon", 1e-5},
          {"n_ctx", config.training.sequence_length},
          {"n_embd", m.hidden_size},
          {"n_head", m.heads},
          {"n_inner", nullptr},
          {"n_layer", m.layers},
          {"n_positions", config.training.sequence_length},
          {"tie_word_embeddings", m.tied},
          {"torch_dtype", nullptr},
          {"vocab_size", m.vocabulary_size}};
}

/// One model's way from a checkpoint to a folder.
class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options), from_(read_checkpoint_model(options.source)) {
    if (!from_.config.model.layer.empty()) {
      refuse("a network of [[model.layer]]",
             "its blocks may be of forms that no config.json describes");
    }
    if (from_.config.model.is_classifier())
      refuse("a " + from_.model.name, "it is a network of pptrain's own");
  }

  ExportResult run() const {
    const NewFolder folder(options_.output);
    ModelTexts texts = {{"config.json", description().dump(2) + "\n"}};
    for (auto& companion : beside_weights()) texts.push_back(std::move(companion));
    WeightWriter writer(options_.output, tensors());
    const ParameterFile file(from_.checkpoint);
    std::int64_t count = 0;
    for (const ParameterSpec& spec : parameters()) {
      write(writer, spec, file.read(spec.name, spec.shape));
      if (!spec.buffer) count += spec.size();
    }
    FilesOfFolder files(options_.output, texts);
    writer.flush();
    files.commit();
    writer.commit();
    return {from_.checkpoint, from_.model.name, from_.step, count};
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& reason) const {
    throw_bad_input({from_.checkpoint, what + " has no place in Hugging Face's libraries", reason,
                     "read its parameters from the HDF5 file"});
  }

  /// The tokenizer's files, generation settings and chat template. Where pptrain has made the
  /// tokens, the folder's own files of another tokenizer stay behind.
  ModelTexts beside_weights() const {
    ModelTexts texts = companions_of(from_.folder);
    ModelTexts made = made_tokenizer(from_);
    if (made.empty()) return texts;
    std::erase_if(texts, [](const auto& text) {
      return text.first != generation_settings && text.first != chat_template;
    });
    std::move(made.begin(), made.end(), std::back_inserter(texts));
    return texts;
  }

  std::vector<ParameterSpec> parameters() const { return stored_tensors(from_.model); }

  /// The name in the folder: that of transformers' class, which has the parts of a model behind a
  /// first word.
  std::string name_of(const ParameterSpec& spec) const {
    const bool own_gpt2 = !from_.config.model.is_described() && spec.name != "lm_head.weight";
    return own_gpt2 ? "transformer." + spec.name : file_name(spec);
  }

  std::vector<WeightTensor> tensors() const {
    std::vector<WeightTensor> tensors;
    for (const ParameterSpec& spec : parameters()) {
      const bool counts = spec.buffer && spec.shape.empty();
      // The parts of a tensor are neighbours.
      if (!tensors.empty() && tensors.back().name == name_of(spec)) continue;
      tensors.push_back(
          {name_of(spec), counts ? WeightType::i64 : options_.type, file_shape(spec)});
    }
    return tensors;
  }

  void write(WeightWriter& writer, const ParameterSpec& spec,
             const std::vector<float>& values) const {
    if (spec.layout == FileLayout::same) {
      return for_each_run(spec, {0, spec.size()}, [&](const LayoutRun& run) {
        writer.write(name_of(spec), run.theirs, values);
      });
    }
    std::vector<float> turned(values.size());
    for_each_run(spec, {0, spec.size()}, [&](const LayoutRun& run) {
      for (std::int64_t i = 0; i < run.ours.size(); ++i) {
        turned[static_cast<std::size_t>(run.theirs + i * run.stride)] =
            values[static_cast<std::size_t>(run.ours.begin + i)];
      }
    });
    writer.write(name_of(spec), 0, turned);
  }

  nlohmann::ordered_json described() const {
    const ModelConfig& model = from_.config.model;
    if (!model.is_described()) return gpt2_config(from_.config);
    // The parts for other things than texts were not trained.
    return text_description(nlohmann::ordered_json::parse(model.description), from_.model.name);
  }

  /// The class that readers are to take, which a description that was written by hand may leave
  /// out.
  void add_architecture(nlohmann::ordered_json& json) const {
    if (!json.value("architectures", nlohmann::ordered_json()).empty()) return;
    const std::string architecture =
        family_of(ConfigJson::parse(json.dump(), from_.checkpoint)).architecture;
    if (!architecture.empty()) json["architectures"] = {architecture};
  }

  nlohmann::ordered_json description() const {
    nlohmann::ordered_json json = described();
    add_architecture(json);
    const char* key = json.contains("torch_dtype") ? "torch_dtype" : "dtype";
    json[key] = options_.type == WeightType::f32    ? "float32"
                : options_.type == WeightType::bf16 ? "bfloat16"
                                                    : "float16";
    return json;
  }

  const ExportOptions& options_;
  CheckpointModel from_;
};

}  // namespace

ExportResult export_model(const ExportOptions& options) { return Export(options).run(); }

void check_model_files(const std::string& from) { companions_of(from); }

void copy_model_files(const std::string& from, const std::string& description,
                      const std::string& to) {
  ModelTexts texts = companions_of(from);
  texts.emplace_back("config.json", description);
  std::error_code ignored;  // what cannot be made is said when a file of it is written
  fs::create_directories(to, ignored);
  FilesOfFolder(to, texts).commit();
}

}  // namespace pptrain
