// What a network's layers move through global memory, and how often they launch, counted in what
// nvcc makes of the kernels: outside of products and attention, which libraries compute.
#include <map>
#include <string>
#include <vector>

#include "cuda/attention.hpp"
#include "cuda/experts.hpp"
#include "cuda/gemm.hpp"
#include "cuda/side.hpp"
#include "cuda/twin.hpp"
#include "model/model.hpp"
#include "ptx/program.hpp"

using namespace cuda_on_host::ptx;
using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr int hidden = 128, length = 64;
constexpr std::size_t samples = 16;

Model gpt2_of(int layers, int vocabulary) {
  ModelConfig config;
  config.layers = layers;
  config.hidden_size = hidden;
  config.heads = 2;
  config.vocabulary_size = vocabulary;
  TrainingConfig training;
  training.sequence_length = length;
  return build_model(config, training, "test");
}

struct Pass {
  std::map<std::string, Counts> kernels;  // of the project
  std::uint64_t calls_of_libraries = 0;

  Counts of_kernels() const {
    Counts sum;
    for (const auto& [name, counts] : kernels) sum += counts;
    return sum;
  }
};

/// A forward and backward pass of a micro-batch in fp16, which all GPUs convert.
Pass pass_of(const Model& model) {
  Program* program = Program::current();
  REQUIRE(program != nullptr);
  Gpu gpu;
  const auto gemm = make_cuda_gemm(gpu.device, gpu.kernels);
  const auto attention = make_cuda_attention(gpu.device);
  const auto experts = make_cuda_experts(gpu.device);
  Side side({gpu.device, *gemm, *attention, gpu.kernels, *experts}, model, DType::f16,
            Recompute::none);
  side.run(1, 1);  // converts the weights
  program->take_counts();
  const std::uint64_t before = cuda_on_host::num_library_calls();
  side.run(samples, 2);
  Pass pass;
  pass.calls_of_libraries = cuda_on_host::num_library_calls() - before;
  pass.kernels = program->take_counts();
  return pass;
}

constexpr double tokens = static_cast<double>(samples) * length;

/// What a layer adds to a pass, per token and element of the residual stream.
struct PerLayer {
  double bytes = 0, instructions = 0, launches = 0;
};

PerLayer difference(const Counts& two_layers, const Counts& one_layer) {
  const auto each = [&](std::uint64_t Counts::*what) {
    return static_cast<double>(two_layers.*what - one_layer.*what);
  };
  const double elements = tokens * hidden;
  return {(each(&Counts::loaded_bytes) + each(&Counts::stored_bytes)) / elements,
          each(&Counts::instructions) / elements, each(&Counts::launches)};
}

/// The most that kernels whose names contain `part` may do in a layer.
struct Limit {
  std::string part;
  PerLayer most;
};

}  // namespace

TEST_CASE("a layer of GPT-2 moves few bytes outside of its products and attention", "[ptx]") {
  const Pass one = pass_of(gpt2_of(1, 64)), two = pass_of(gpt2_of(2, 64));
  const PerLayer all = difference(two.of_kernels(), one.of_kernels());
  CHECK(all.bytes <= 98);
  const auto calls = static_cast<double>(two.calls_of_libraries - one.calls_of_libraries);
  CHECK(all.launches + calls <= 30);

  const std::vector<Limit> limits = {
      {"::norm_backward_rows", {35, 170, 2}}, {"::residual_norm_rows", {20.5, 130, 2}},
      {"::ResidualAddPacks", {12.1, 20, 1}},  {"::ActivationForwardPacks", {16.1, 140, 1}},
      {"::ConvertPacks", {0.1, 0.1, 2}},      {"::AddPacks", {0.1, 0.1, 2}},
      {"::sum_chunks", {12.6, 21, 2}},        {"::add_chunks", {2.6, 13, 4}}};
  double told = 0;
  for (const auto& [part, most] : limits) {
    CAPTURE(part);
    Counts of_two, of_one;
    for (const auto& [name, counts] : two.kernels) {
      if (name.find(part) == std::string::npos) continue;
      of_two += counts;
      if (one.kernels.count(name) != 0) of_one += one.kernels.at(name);
    }
    const PerLayer of = difference(of_two, of_one);
    CHECK(of.bytes <= most.bytes);
    CHECK(of.instructions <= most.instructions);
    CHECK(of.launches == most.launches);
    told += of.launches;
  }
  CHECK(told == all.launches);
}

TEST_CASE("the loss reads and writes each logit once", "[ptx]") {
  constexpr int vocabulary = 512;
  const Pass pass = pass_of(gpt2_of(1, vocabulary));
  Counts loss;
  for (const auto& [name, counts] : pass.kernels) {
    if (name.find("losses_of_rows") != std::string::npos) loss += counts;
  }
  const auto bytes = static_cast<double>(loss.loaded_bytes + loss.stored_bytes);
  CHECK(bytes / tokens / vocabulary <= 4.4);
  CHECK(loss.launches == 1);
}
