// Networks written down as [[model.layer]]: the numbers of a published model of the same
// dimensions, and, where layers differ, those of one rank on any division.
#include <cmath>
#include <map>
#include <utility>

#include "config/read.hpp"
#include "reference.hpp"
#include "shaped_plans.hpp"
#include "support/catch.hpp"
#include "written_networks.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

int num_ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// The recorded run of a Llama, its dimensions written down.
void check_written_llama(int pipeline, int data, int tensor) {
  Reference reference("llama");
  reference.config.model = own_network(
      "[[model.layer]]\nrepeat = 4\nheads = 4\nkey_heads = 2\nfeed_forward = 176\nnorm = \"rms\"\n"
      "activation = \"silu\"\ngated = true\nrotary_theta = 1e4\n");
  const Plan plan = reference.plan(pipeline, data, tensor, 4, "1f1b");
  check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
}

/// The recorded run of a Qwen2-MoE, its dimensions written down.
void check_written_experts(int pipeline, int data, int tensor) {
  Reference reference("qwen2-moe");
  reference.config.model = parse_config(R"(
[model]
vocabulary_size = 128
[[model.layer]]
kind = "embedding"
columns = 40
[[model.layer]]
repeat = 2
heads = 4
key_heads = 2
query_bias = true
rotary_theta = 1e4
feed_forward = 24
activation = "silu"
gated = true
experts = 8
experts_per_token = 3
experts_sum_to_one = false
shared_expert = 56
norm = "rms"
epsilon = 1e-6
[[model.layer]]
kind = "output"
norm = "rms"
epsilon = 1e-6
)",
                                        "own.toml", "")
                               .model;
  const Plan plan = reference.plan(pipeline, data, tensor, 4, "1f1b");
  check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
}

const std::string written_vgg = R"(
[[model.layer]]
kind = "images"
image_size = 32
[[model.layer]]
kind = "convolution"
channels = 4
pool = "max"
[[model.layer]]
kind = "convolution"
channels = 8
repeat = 2
pool = "max"
[[model.layer]]
kind = "convolution"
channels = 16
pool = "max"
[[model.layer]]
kind = "dense"
columns = 256
[[model.layer]]
kind = "dense"
columns = 128
[[model.layer]]
kind = "classes"
)";

const std::string written_resnet = R"(
[[model.layer]]
kind = "images"
image_size = 32
[[model.layer]]
kind = "convolution"
channels = 4
kernel = 7
stride = 2
batch_norm = true
pool = "max"
pool_size = 3
pool_stride = 2
pool_padding = 1
[[model.layer]]
kind = "residual"
channels = 12
inner = 3
[[model.layer]]
kind = "residual"
channels = 24
inner = 6
stride = 2
repeat = 2
pool = "average"
pool_size = 0
[[model.layer]]
kind = "classes"
)";

/// The recorded run of a folder whose network is written down: parameters have other names, in the
/// same order.
Reference written_images(const std::string& folder, const std::string& layers) {
  Reference reference(folder);
  const std::vector<ParameterSpec> published =
      stored_tensors(build_model(reference.config.model, reference.config.training, "test"));
  reference.config.model = parse_config(layers, "own.toml", "").model;
  const std::vector<ParameterSpec> own =
      stored_tensors(build_model(reference.config.model, reference.config.training, "test"));
  REQUIRE(own.size() == published.size());
  const auto weights = std::exchange(reference.weights, {});
  const auto norms = std::exchange(reference.tensor_norms, {});
  for (std::size_t i = 0; i < own.size(); ++i) {
    INFO(published[i].name << " is " << own[i].name);
    REQUIRE(own[i].shape == published[i].shape);
    reference.weights[own[i].name] = weights.at(published[i].name);
    const auto norm = norms.find(published[i].name);
    if (norm != norms.end()) reference.tensor_norms[own[i].name] = norm->second;
  }
  REQUIRE(reference.tensor_norms.size() == norms.size());
  return reference;
}

void check_written_images(int pipeline, int data, int tensor) {
  for (const auto& [folder, layers] : {std::pair{"vgg", written_vgg}, {"resnet", written_resnet}}) {
    INFO(folder);
    const Reference reference = written_images(folder, layers);
    const Plan plan = reference.plan(pipeline, data, tensor, 4, "1f1b");
    check_curve(train_reference(MPI_COMM_WORLD, reference, plan, 20), reference);
  }
}

void check_drawn_plans(const Drawn& drawn, std::uint64_t seed, int number) {
  RandomShapes shapes(
      seed, DrawnBlocks::some,
      {drawn.model.num_layers(), drawn.reference.config.training.global_batch_size,
       axes_of(drawn.model), drawn.reference.micro_batch_size, sending_layers(drawn.model)});
  for (int i = 0; i < number; ++i) {
    const Plan plan = shapes.plan(num_ranks());
    INFO("plan " << i << " of seed " << seed);
    drawn.check(plan, shapes.machine(plan, num_ranks()));
  }
}

}  // namespace

TEST_CASE("a written Llama trains as the published one", "[np1]") { check_written_llama(1, 1, 1); }
TEST_CASE("a written Llama trains as the published one on four ranks", "[np4]") {
  check_written_llama(2, 1, 2);
}

TEST_CASE("written experts train as published ones", "[np1]") { check_written_experts(1, 1, 1); }
TEST_CASE("written experts train as published ones on four ranks", "[np4]") {
  check_written_experts(2, 1, 2);
}

TEST_CASE("written networks of images train as published ones", "[np1]") {
  check_written_images(1, 1, 1);
}
TEST_CASE("written networks of images train as published ones on four ranks", "[np4]") {
  check_written_images(2, 1, 2);
  check_written_images(2, 2, 1);
}

TEST_CASE("layers of different dimensions are divided as one rank has them", "[np4]") {
  const Drawn uneven(uneven_blocks);
  REQUIRE(uneven.model.axis_size(ShardAxis::heads) == 4);
  REQUIRE(uneven.model.axis_size(ShardAxis::columns) == 24);
  // A network that does not learn would agree on every division.
  CHECK(uneven.reference.losses.back() < uneven.reference.losses.front());
  for (const auto& [pipeline, data, tensor] :
       {std::array{1, 1, 4}, std::array{2, 1, 2}, std::array{4, 1, 1}, std::array{1, 2, 2}}) {
    INFO("pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
    uneven.check(uneven.reference.plan(pipeline, data, tensor, 4, "1f1b"));
  }
}

TEST_CASE("layers of different dimensions train by plans that are drawn", "[np4]") {
  check_drawn_plans(Drawn(uneven_blocks), 11, 4);
}
TEST_CASE("layers of different dimensions train by plans that are drawn for eight ranks", "[np8]") {
  check_drawn_plans(Drawn(uneven_blocks), 12, 4);
}

TEST_CASE("experts that are full leave the same rows out on any division", "[np4]") {
  const Drawn limited(full_experts);
  CHECK(limited.reference.losses.back() < limited.reference.losses.front());
  // Without the limit the losses are others: some rows are left out.
  std::string unlimited = full_experts;
  for (const std::string key : {"expert_capacity = 1.0", "expert_capacity = 1.1"}) {
    unlimited.replace(unlimited.find(key), key.size(), "expert_capacity = 0.0");
  }
  CHECK(std::abs(Drawn(unlimited).reference.losses.back() - limited.reference.losses.back()) >
        1e-4);
  for (const auto& [pipeline, data, tensor] :
       {std::array{1, 1, 4}, std::array{2, 1, 2}, std::array{4, 1, 1}, std::array{1, 4, 1}}) {
    INFO("pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
    limited.check(limited.reference.plan(pipeline, data, tensor, 4, "1f1b"));
  }
  for (const std::vector<std::int64_t>& numbers : {std::vector<std::int64_t>{1, 1, 1, 1}, {1, 3}}) {
    INFO(numbers.size() << " members that send rows");
    limited.check(
        with_sent_rows(limited.reference.plan(1, 4, 1, 4, "1f1b"), limited.model, numbers));
  }
  check_drawn_plans(limited, 13, 4);
}

/// A single block with experts: a layer for each of four stages.
const std::string one_block =
    "[[model.layer]]\nheads = 4\nfeed_forward = 32\nactivation = \"silu\"\nexperts = "
    "4\nshared_expert = 16\n";

TEST_CASE("experts alone in a stage, whose replicas send rows, train as one rank does", "[np4]") {
  const Drawn drawn(one_block);
  CHECK(drawn.reference.losses.back() < drawn.reference.losses.front());
  for (const int zero_stage : {0, 1, 2, 3}) {
    for (const std::vector<std::int64_t>& samples : {std::vector<std::int64_t>{1, 1}, {3, 1}}) {
      const std::int64_t all = samples[0] + samples[1];
      Plan plan = shaped_plan({{{2}, {all}}, {{1}, samples, 1, {}, zero_stage}, {{1}, {all}}}, 8);
      plan = with_sent_rows(plan, drawn.model, {1, 3});
      REQUIRE(plan.stages[1].blocks.size() == 1);
      INFO("ZeRO " << zero_stage << ", " << samples[0] << " samples first");
      drawn.check(plan);
    }
  }
}
TEST_CASE("experts whose rows are sent train by plans that are drawn", "[np4]") {
  check_drawn_plans(Drawn(one_block), 21, 8);
  check_drawn_plans(Drawn(shared_experts), 22, 4);
}
TEST_CASE("experts whose rows are sent train by plans that are drawn for eight ranks", "[np8]") {
  check_drawn_plans(Drawn(shared_experts), 24, 4);
}

TEST_CASE("channels within residual blocks are divided as one rank has them", "[np4]") {
  const Drawn wide(parse_config(wide_blocks, "wide.toml", "").model);
  REQUIRE(wide.model.axis_size(ShardAxis::columns) == 16);
  CHECK(wide.reference.losses.back() < wide.reference.losses.front());
  const double alone = wide.evaluated(MPI_COMM_SELF, wide.reference.plan(1, 1, 1, 0, "1f1b"));
  for (const auto& [pipeline, data, tensor] :
       {std::array{1, 1, 4}, std::array{2, 1, 2}, std::array{1, 2, 2}}) {
    INFO("pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
    const Plan plan = wide.reference.plan(pipeline, data, tensor, 0, "1f1b");
    wide.check(plan);
    CHECK(wide.evaluated(MPI_COMM_WORLD, plan) == Approx(alone).epsilon(1e-5));
  }
  check_drawn_plans(wide, 16, 4);
}

TEST_CASE("a network that draws images trains on any division as on one rank", "[np4]") {
  const Drawn drawn(parse_config(drawing, "drawing.toml", "").model);
  CHECK(drawn.reference.losses.back() < drawn.reference.losses.front());
  for (const auto& [pipeline, data, tensor] :
       {std::array{1, 1, 4}, std::array{2, 1, 2}, std::array{4, 1, 1}, std::array{1, 4, 1}}) {
    INFO("pipeline " << pipeline << ", data " << data << ", tensor " << tensor);
    drawn.check(drawn.reference.plan(pipeline, data, tensor, 4, "1f1b"));
  }
  check_drawn_plans(drawn, 14, 4);
}
TEST_CASE("a network that draws images trains by plans that are drawn for eight ranks", "[np8]") {
  check_drawn_plans(Drawn(parse_config(drawing, "drawing.toml", "").model), 15, 4);
}

TEST_CASE("networks that are written down train in 16 bits nearly as in fp32", "[np4]") {
  // Half the distance of neighbouring numbers, relative: the first loss may be off as if it alone
  // had been rounded, and each update, by gradients of rounded products, adds as much.
  const std::map<Precision, double> roundings = {{Precision::fp16, std::ldexp(1.0, -11)},
                                                 {Precision::bf16, std::ldexp(1.0, -8)}};
  for (const ModelConfig& network : {own_network(uneven_blocks), own_network(shared_experts),
                                     parse_config(drawing, "drawing.toml", "").model}) {
    Drawn drawn(network);
    const std::vector<double> losses = drawn.reference.losses;
    std::vector<Plan> plans = {drawn.reference.plan(1, 1, 1, 4, "1f1b"),
                               drawn.reference.plan(2, 1, 2, 4, "zb-h1")};
    if (drawn.model.axes.contains(ShardAxis::experts)) {
      plans.push_back(
          with_sent_rows(drawn.reference.plan(1, 4, 1, 4, "1f1b"), drawn.model, {1, 1, 1, 1}));
    }
    for (const auto& [precision, rounding] : roundings) {
      drawn.reference.config.training.precision = precision;
      for (const Plan& plan : plans) {
        INFO(drawn.model.layers[2].name << ", " << to_string(precision) << ", " << plan.shape());
        const Curve curve = train_reference(MPI_COMM_WORLD, drawn.reference, plan, 8);
        for (std::size_t step = 0; step < 8; ++step) {
          CHECK(curve.losses[step] ==
                Approx(losses[step]).epsilon(static_cast<double>(step + 1) * rounding));
        }
        CHECK(curve.losses.back() != losses.back());  // something is rounded
      }
    }
  }
}
