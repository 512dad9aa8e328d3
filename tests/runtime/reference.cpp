#include "reference.hpp"

#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/kernels.hpp"
#include "model/build/file_layout.hpp"
#include "runtime/execute/model_weights.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/job/datasets.hpp"
#include "runtime/replan/training_state.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace pptrain::test {
namespace {

std::vector<float> read_dataset(hid_t file, const std::string& name) {
  const hid_t dataset = H5Dopen2(file, ("/parameters/" + name).c_str(), H5P_DEFAULT);
  if (dataset < 0) throw std::runtime_error("no dataset " + name);
  const hid_t space = H5Dget_space(dataset);
  std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Sclose(space);
  H5Dclose(dataset);
  return values;
}

/// Tokens of 16 bits, or of 32 where the header says so.
std::vector<std::uint32_t> read_tokens(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr std::size_t header = 256 * 4;
  std::int32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof(magic));
  std::vector<std::uint32_t> tokens;
  const std::size_t width = magic == 20240801 ? 4 : 2;
  for (std::size_t at = header; at + width <= bytes.size(); at += width) {
    std::uint32_t token = 0;
    std::memcpy(&token, bytes.data() + at, width);
    tokens.push_back(token);
  }
  return tokens;
}

/// Height of the images of a folder whose config.json does not say it; 0: it says it, or there are
/// none.
std::int64_t image_size_of(const std::string& folder) {
  const nlohmann::json config = nlohmann::json::parse(std::ifstream(folder + "/config.json"));
  if (!config.contains("hidden_sizes")) return 0;
  const hid_t file = H5Fopen((folder + "/data.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t images = H5Dopen2(file, "images", H5P_DEFAULT), space = H5Dget_space(images);
  hsize_t extents[4] = {};
  H5Sget_simple_extent_dims(space, extents, nullptr);
  H5Sclose(space);
  H5Dclose(images);
  H5Fclose(file);
  return static_cast<std::int64_t>(extents[2]);
}

/// The configuration of a folder of tests/data/models.
Config config_of_folder(const std::string& folder, const nlohmann::json& run) {
  Config config;
  config.model.from = folder;
  config.training.sequence_length = run.value("T", config.training.sequence_length);
  if (run.contains("S")) config.training.source_length = run.at("S").get<std::int64_t>();
  config.training.global_batch_size = run.at("batch");
  config.training.steps = run.at("steps");
  config.training.z_loss = run.value("z_loss", 0.0);
  config.training.label_smoothing = run.value("label_smoothing", 0.0);
  config.training.dropout = run.value("drop", 0.0);
  config.training.router_aux_loss = run.value("router_aux_loss_coef", 0.0);
  if (!run.value("per_layer", false)) config.training.router_aux_loss_over = BalanceOver::model;
  if (run.contains("micro")) config.training.micro_batch_size = run.at("micro").get<std::int64_t>();
  const nlohmann::json& optimizer = run.at("optimizer");
  config.optimizer.kind = *optimizer_names().find(optimizer.at("name"));
  config.optimizer.learning_rate = optimizer.at("lr");
  OptimizerConfig& keys = config.optimizer;
  keys.beta1 = optimizer.value("beta1", keys.beta1);
  keys.beta2 = optimizer.value("beta2", keys.beta2);
  keys.epsilon = optimizer.value("eps", keys.epsilon);
  keys.nesterov = optimizer.value("nesterov", false) && keys.kind == OptimizerKind::sgd;
  keys.beta2_decay = optimizer.value("beta2_decay", keys.beta2_decay);
  keys.epsilon2 = optimizer.value("eps2", keys.epsilon2);
  keys.clip_threshold = optimizer.value("d", keys.clip_threshold);
  keys.muon_learning_rate = optimizer.value("muon_lr", keys.muon_learning_rate);
  (keys.kind == OptimizerKind::muon ? keys.muon_momentum : keys.momentum) =
      optimizer.value("momentum", 0.0);
  config.optimizer.weight_decay = optimizer.at("weight_decay");
  config.optimizer.gradient_clip =
      optimizer.at("clip").is_null() ? 0.0 : optimizer.at("clip").get<double>();
  if (optimizer.contains("warmup")) {
    config.lr_scheduler.warmup_steps = optimizer.at("warmup");
    config.lr_scheduler.kind = LrSchedule::cosine;
    config.lr_scheduler.minimum = optimizer.at("min_lr");
  }
  config.job.timeout = 600.0;
  config.model.image_size = image_size_of(folder);
  return config;
}

Config config_of(const nlohmann::json& run) {
  Config config;
  config.model.layers = run.at("L");
  config.model.hidden_size = run.at("H");
  config.model.heads = run.at("heads");
  config.model.vocabulary_size = run.at("V");
  config.model.tied = run.at("tied").get<int>() != 0;
  config.training.sequence_length = run.at("T");
  config.training.global_batch_size = run.at("B");
  config.training.steps = run.at("steps");
  config.optimizer.kind = *optimizer_names().find(run.at("opt"));
  config.optimizer.learning_rate = run.at("lr");
  if (config.optimizer.kind != OptimizerKind::sgd)
    config.optimizer.weight_decay = run.at("wd");  // it is plain
  config.optimizer.gradient_clip = run.at("clip");
  config.lr_scheduler.warmup_steps = run.at("warmup");
  if (run.at("minlr") >= 0.0) {
    config.lr_scheduler.kind = LrSchedule::cosine;
    config.lr_scheduler.minimum = run.at("minlr");
  }
  config.job.timeout = 600.0;
  return config;
}

}  // namespace

Reference::Reference(const std::string& name, const std::string& of_run) {
  const std::string published = test_data("models/") + name;
  if (std::filesystem::exists(published + "/config.json")) {
    read_folder(published, of_run.empty() ? "expected.json" : "expected-" + of_run + ".json");
    return;
  }
  const std::string folder = test_data("gpt2-reference/") + name;
  const nlohmann::json run = nlohmann::json::parse(std::ifstream(folder + "/expected.json"));
  config = config_of(run);
  losses = run.at("losses").get<std::vector<double>>();
  grad_norms = run.at("grad_norms").get<std::vector<double>>();
  if (run.contains("step0_grad_norm_per_tensor")) {
    tensor_norms = run.at("step0_grad_norm_per_tensor").get<std::map<std::string, double>>();
  }
  tokens = read_tokens(folder + "/tokens.bin");
  const hid_t file = H5Fopen((folder + "/initial.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const Model model = build_model(config.model, config.training, name);
  for (const Layer& layer : model.layers) {
    for (const ParameterSpec& spec : layer.parameters)
      weights[spec.name] = read_dataset(file, spec.name);
  }
  H5Fclose(file);
}

void Reference::read_folder(const std::string& folder, const std::string& expected) {
  const nlohmann::json run = nlohmann::json::parse(std::ifstream(folder + "/" + expected));
  config = config_of_folder(folder, run);
  losses = run.at("losses").get<std::vector<double>>();
  grad_norms = run.at("grad_norms").get<std::vector<double>>();
  num_parameters = run.at("parameters");
  loss_tolerance = run.at("tolerance").at("loss");
  const Model model = build_model(config.model, config.training, folder);
  if (std::ranges::any_of(model.layers,
                          [](const Layer& layer) { return layer.batch_norms > 0.0; })) {
    micro_batch_size = run.value("micro", config.training.global_batch_size);
    config.training.micro_batch_size = micro_batch_size;
  }
  if (std::filesystem::exists(folder + "/data.h5")) {
    config.data.train = {folder + "/data.h5"};
    config.data.shuffle = false;
    labelled = open_datasets(config, model).train;
  } else {
    tokens = read_tokens(folder + "/tokens.bin");
  }
  const ModelWeights files(folder, model);
  for (const ParameterSpec& spec : stored_tensors(model)) {
    std::vector<float>& values = weights[spec.name];
    values.resize(static_cast<std::size_t>(spec.size()));
    files.read(spec, {0, spec.size()}, values.data());
  }
  // What is zero but for rounding has no norm to compare with.
  const std::vector<std::string> zero = run.at("zero_gradient_tensors");
  for (const auto& [name, norm] :
       run.at("step0_grad_norm_per_tensor").get<std::map<std::string, double>>()) {
    if (std::find(zero.begin(), zero.end(), name) == zero.end()) tensor_norms[name] = norm;
  }
}

namespace {}  // namespace

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

SampleSource Reference::samples(std::int64_t step) const {
  if (labelled)
    return [this, step](std::int64_t sample, const SampleSlot& slot) {
      labelled->sample(step, sample, slot);
    };
  return [this, step](std::int64_t sample, const SampleSlot& slot) {
    const std::int64_t length = config.training.sequence_length;
    const std::int64_t first = (step * config.training.global_batch_size + sample) * length;
    if (slot.tokens != nullptr) std::copy_n(tokens.begin() + first, length, slot.tokens);
    if (slot.targets != nullptr) std::copy_n(tokens.begin() + first + 1, length, slot.targets);
    for (std::int64_t t = 0; slot.document_begin != nullptr && t < length; ++t) {
      const std::int64_t begin = t - (t + document_shift * sample) % document_length;
      slot.document_begin[t] = static_cast<std::int32_t>(std::max<std::int64_t>(begin, 0));
    }
  };
}

Plan Reference::plan(int pipeline, int data, int tensor, std::int64_t of_any,
                     const std::string& schedule, int chunks) const {
  const ScheduleChoice choice = {schedule, chunks, 0};
  const int layers = build_model(config.model, config.training, "test").num_layers();
  return uniform_plan(even_division(layers, pipeline * chunks), data, tensor,
                      config.training.global_batch_size,
                      micro_batch_size > 0 ? micro_batch_size : of_any, choice);
}

void Reference::fill(Session& session) const {
  if (session.device() == nullptr) return;
  session.device()->fill([&](const ParameterSpec& spec, Interval run, float* out) {
    std::copy_n(weights.at(spec.name).begin() + run.begin, run.size(), out);
  });
}

namespace {

/// Sum of squares of what this rank counts of the gradient of a file's tensor, which several
/// parameters may be parts of.
double own_squares(Session& session, const std::string& name) {
  double squares = 0.0;
  if (session.device() == nullptr) return squares;
  std::vector<float> gradients;
  for (const auto& part : session.device()->parts()) {
    const ParameterStore& store = part->parameters();
    for (const OwnPart& own : store.own_parts()) {
      const LocalParameter& p = store.parameters()[own.parameter];
      const Interval counted = part->counted(own);
      if (file_name(p.spec) != name || counted.empty()) continue;
      gradients.resize(static_cast<std::size_t>(counted.size()));
      session.arena().device().download(gradients.data(),
                                        own.gradients + (counted.begin - own.begin),
                                        gradients.size() * sizeof(float));
      host_kernels().sum_of_squares(gradients.data(), gradients.size(), &squares);
    }
  }
  return squares;
}

}  // namespace

Curve train_reference(MPI_Comm comm, const Reference& reference, const Plan& plan, int steps,
                      const SessionOptions& options) {
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  return train_model(comm, reference, model, plan, steps, options);
}

Curve train_model(MPI_Comm comm, const Reference& reference, const Model& model, const Plan& plan,
                  int steps, const SessionOptions& options) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  SessionOptions of_data = options;
  of_data.has_padding = reference.labelled && reference.labelled->has_padding();
  Session session(comm, reference.config, model, plan, RankMap::identity(size), of_data);
  session.arena().poison(true);
  reference.fill(session);
  Curve curve;
  for (int step = 0; step < steps; ++step) {
    const IterationResult result = session.train(step, reference.samples(step));
    curve.losses.push_back(result.loss);
    curve.grad_norms.push_back(result.grad_norm);
    if (step > 0 || reference.tensor_norms.empty()) continue;
    std::vector<double> squares;
    for (const auto& [name, norm] : reference.tensor_norms)
      squares.push_back(own_squares(session, name));
    session.groups().all().all_reduce_sum(squares.data(), squares.size());
    auto sum = squares.begin();
    for (const auto& [name, norm] : reference.tensor_norms)
      curve.tensor_norms[name] = std::sqrt(*sum++);
  }
  curve.peak_bytes = session.arena().peak_bytes();
  curve.resting_bytes = session.arena().bytes_in_use();
  if (session.device() != nullptr) curve.chunk_gathers = session.device()->num_chunk_gathers();
  return curve;
}

void check_first_logits(const std::string& name, const std::vector<float>& logits) {
  const nlohmann::json run =
      nlohmann::json::parse(std::ifstream(test_data("models/") + name + "/expected.json"))
          .at("logits_first_sample");
  const std::vector<double> first = run.at("first"), last = run.at("last");
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(std::abs(logits[i] - first[i]) < 1e-5);
  for (std::size_t i = 0; i < last.size(); ++i) {
    CHECK(std::abs(logits[logits.size() - last.size() + i] - last[i]) < 1e-5);
  }
  double squares = 0.0;
  for (const float logit : logits)
    squares += static_cast<double>(logit) * static_cast<double>(logit);
  CHECK(std::sqrt(squares) == Approx(run.at("l2").get<double>()).epsilon(1e-6));
}

void check_curve(const Curve& curve, const Reference& reference) {
  CHECK(largest_difference(curve.losses, reference.losses) <= reference.loss_tolerance);
  CHECK(curve.grad_norms.front() == Approx(reference.grad_norms.front()).epsilon(1e-5));
  for (const auto& [name, norm] : reference.tensor_norms) {
    INFO(name);
    CHECK(curve.tensor_norms.at(name) ==
          Approx(norm).epsilon(1e-5).margin(1e-8 * reference.grad_norms.front()));
  }
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = difference <= largest ? largest : difference;  // a NaN stays
  }
  return largest;
}

}  // namespace pptrain::test
