#include "io/export_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "config/read.hpp"
#include "io/checkpoint_file.hpp"
#include "io/checkpoint_folder.hpp"
#include "io/parameters.hpp"
#include "model/file_layout.hpp"
#include "weights/weight_writer.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;

/// What a folder may hold beside weights and config.json.
constexpr const char* companions[] = {"generation_config.json",  "tokenizer.json",    "tokenizer_config.json",
                                      "tokenizer.model",         "vocab.json",        "merges.txt",
                                      "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string checkpoint_of(const std::string& source) {
  if (!fs::is_directory(source)) return source;
  const std::vector<std::string> files = CheckpointFolder(source).files();
  if (!files.empty()) return files.front();
  throw_bad_input({source, "the folder has no checkpoint", "a run directory keeps them in checkpoints/step-N.h5",
                   "name a run with [checkpoint] interval > 0, or a checkpoint"});
}

/// The folder with the config.json that a checkpoint's model is described by: what its run has kept, or where it came
/// from; "" for a model that the configuration's own keys describe.
std::string description_folder(const std::string& checkpoint, const Config& config) {
  if (config.model.from.empty()) return "";
  const fs::path kept = fs::path(checkpoint).parent_path().parent_path() / model_folder_name;
  return fs::exists(kept / "config.json") ? kept.string() : config.model.from;
}

/// The config.json of a GPT-2 that the configuration's own keys describe.
nlohmann::ordered_json gpt2_config(const Config& config) {
  const ModelConfig& m = config.model;
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"attn_pdrop", 0.0},
          {"embd_pdrop", 0.0},
          {"resid_pdrop", 0.0},
          {"layer_norm_epsilon", 1e-5},
          {"n_embd", m.hidden_size},
          {"n_head", m.heads},
          {"n_inner", nullptr},
          {"n_layer", m.layers},
          {"n_positions", config.training.sequence_length},
          {"tie_word_embeddings", m.tied},
          {"vocab_size", m.vocabulary_size}};
}

/// One model's way from a checkpoint to a folder.
class Export {
 public:
  explicit Export(const ExportOptions& options) : options_(options), checkpoint_(checkpoint_of(options.source)) {
    const CheckpointHead head = read_checkpoint_head(checkpoint_);
    step_ = head.state.step;
    config_ = parse_config(head.state.configuration, checkpoint_, "");
    folder_ = description_folder(checkpoint_, config_);
    if (!folder_.empty()) config_.model.from = folder_;
    model_ = build_model(config_.model, config_.training, checkpoint_);
    if (model_.sample.tokens()) return;
    throw_bad_input({checkpoint_, fmt::format("a {} has no place in Hugging Face's libraries", model_.name),
                     "it is a network of pptrain's own", "read its parameters from the HDF5 file"});
  }

  ExportResult run() const {
    WeightWriter writer(options_.output, tensors());
    const ParameterFile file(checkpoint_);
    std::int64_t count = 0;
    for (const ParameterSpec& spec : parameters()) {
      write(writer, spec, file.read(spec.name, spec.shape));
      count += spec.size();
    }
    writer.commit();
    if (!folder_.empty()) copy_model_files(folder_, options_.output);
    write_file(options_.output + "/config.json", description().dump(2) + "\n",
               "free some room, or name another folder");
    return {checkpoint_, model_.name, step_, count};
  }

 private:
  /// Every parameter once.
  std::vector<ParameterSpec> parameters() const {
    std::vector<ParameterSpec> specs;
    std::set<std::string> seen;
    for (const Layer& layer : model_.layers) {
      for (const ParameterSpec& spec : layer.parameters) {
        if (seen.insert(spec.name).second) specs.push_back(spec);
      }
    }
    return specs;
  }

  /// The name in the folder: that of transformers' class, which has the parts of a model behind a first word.
  std::string name_of(const ParameterSpec& spec) const {
    const bool own_gpt2 = folder_.empty() && spec.name != "lm_head.weight";
    return own_gpt2 ? "transformer." + spec.name : spec.name;
  }

  std::vector<WeightTensor> tensors() const {
    std::vector<WeightTensor> tensors;
    for (const ParameterSpec& spec : parameters()) tensors.push_back({name_of(spec), options_.type, file_shape(spec)});
    return tensors;
  }

  void write(WeightWriter& writer, const ParameterSpec& spec, const std::vector<float>& values) const {
    if (spec.layout == FileLayout::same) return writer.write(name_of(spec), 0, values);
    std::vector<float> turned(values.size());
    for_each_run(spec, {0, spec.size()}, [&](const LayoutRun& run) {
      for (std::int64_t i = 0; i < run.ours.size(); ++i) {
        turned[static_cast<std::size_t>(run.theirs + i * run.stride)] =
            values[static_cast<std::size_t>(run.ours.begin + i)];
      }
    });
    writer.write(name_of(spec), 0, turned);
  }

  nlohmann::ordered_json description() const {
    nlohmann::ordered_json json = folder_.empty()
                                      ? gpt2_config(config_)
                                      : nlohmann::ordered_json::parse(text_of(fs::path(folder_) / "config.json"));
    const char* key = json.contains("torch_dtype") ? "torch_dtype" : "dtype";
    json[key] = options_.type == WeightType::f32    ? "float32"
                : options_.type == WeightType::bf16 ? "bfloat16"
                                                    : "float16";
    return json;
  }

  const ExportOptions& options_;
  std::string checkpoint_;
  std::int64_t step_ = 0;
  Config config_;
  std::string folder_;
  Model model_;
};

}  // namespace

ExportResult export_model(const ExportOptions& options) { return Export(options).run(); }

void copy_model_files(const std::string& from, const std::string& to) {
  std::error_code ignored;  // what cannot be made is said when a file of it is written
  fs::create_directories(to, ignored);
  const auto copy = [&](const std::string& name) {
    if (!fs::exists(fs::path(from) / name)) return;
    write_file(to + "/" + name, text_of(fs::path(from) / name), "free some room, or name another folder");
  };
  copy("config.json");
  for (const char* name : companions) copy(name);
}

}  // namespace pptrain
