#include "plan/parts.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Four devices as four replicas, one sample each.
Stage four_replicas(const std::vector<Interval>& layers) {
  Stage stage = uniform_plan({{0, 1}}, 4, 1, 4, 4, "1f1b").stages[0];
  stage.layers = layers;
  return stage;
}

/// These layers on all four devices, which have all samples.
Block split(Interval layers) { return {layers, 1, 4, TensorPattern::sp1, {{0, 4}}, {}}; }

std::vector<std::vector<Interval>> layers_of(const StageParts& parts) {
  std::vector<std::vector<Interval>> layers;
  for (const StagePart& part : parts.all()) layers.push_back(part.layers);
  return layers;
}

std::vector<std::int64_t> boundaries_of(const StageParts& parts) {
  std::vector<std::int64_t> layers;
  for (const StageParts::Boundary& boundary : parts.boundaries()) layers.push_back(boundary.layer);
  return layers;
}

TEST_CASE("a stage without blocks is one part, the stage itself", "[plan]") {
  const Stage stage = four_replicas({{0, 2}, {4, 6}});
  const StageParts parts(stage);
  CHECK(layers_of(parts) == std::vector<std::vector<Interval>>{{{0, 2}, {4, 6}}});
  CHECK(parts.all()[0].mesh == &stage);
  CHECK(parts.boundaries().empty());
  CHECK(&parts.first_mesh() == &stage);
  CHECK(&parts.last_mesh() == &stage);
}

TEST_CASE("blocks cut a stage into runs of layers, over the same devices", "[plan]") {
  Stage stage = four_replicas({{0, 6}});
  stage.zero_stage = 2;
  stage.recompute = Recompute::full;
  stage.blocks = {{{4, 6}, 2, 2, TensorPattern::megatron, {{0, 3}, {3, 4}}, {}}, split({2, 3})};
  const StageParts parts(stage);
  CHECK(layers_of(parts) ==
        std::vector<std::vector<Interval>>{{{0, 2}}, {{2, 3}}, {{3, 4}}, {{4, 6}}});
  CHECK(boundaries_of(parts) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(parts.boundaries()[2].before == &stage);
  CHECK(parts.boundaries()[2].after == &parts.last_mesh());
  CHECK(&parts.first_mesh() == &stage);
  CHECK(parts.part_at(2).pattern == TensorPattern::sp1);
  CHECK(parts.part_at(2).computed_degree() == 4);
  const Stage& mesh = *parts.part_at(5).mesh;
  CHECK(mesh.devices ==
        std::vector<std::vector<DeviceId>>{{DeviceId(0), DeviceId(1)}, {DeviceId(2), DeviceId(3)}});
  CHECK(parts.mesh_at(5).samples == std::vector<Interval>{{0, 3}, {3, 4}});
  CHECK(mesh.zero_stage == 2);
  CHECK(mesh.recompute == Recompute::full);
}

TEST_CASE("neighbours that divide alike are one part, also those of two chunks", "[plan]") {
  using Layers = std::vector<std::vector<Interval>>;
  Stage stage = four_replicas({{0, 3}, {4, 6}});
  stage.blocks = {split({1, 2}), split({2, 3}), split({4, 5})};
  const StageParts parts(stage);
  CHECK(layers_of(parts) == Layers{{{0, 1}}, {{1, 3}, {4, 5}}, {{5, 6}}});
  CHECK(boundaries_of(parts) == std::vector<std::int64_t>{1, 5});
  // Between chunks nothing is exchanged, however their layers are divided.
  stage.blocks = {split({4, 6})};
  const StageParts chunks(stage);
  CHECK(layers_of(chunks) == Layers{{{0, 3}}, {{4, 6}}});
  CHECK(chunks.boundaries().empty());
}

TEST_CASE("members that send rows share a layer and hold samples of their own", "[plan]") {
  Stage stage = four_replicas({{0, 2}});
  stage.blocks = {{{1, 2},
                   2,
                   2,
                   TensorPattern::all_to_all,
                   {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                   {{"experts", {{0, 4}, {4, 8}}}}}};
  const StageParts parts(stage);
  const StagePart& part = parts.part_at(1);
  CHECK(divides_experts(part.mesh->shards));
  CHECK_FALSE(divides_experts(stage.shards));
  CHECK(part.mesh->replicas == 2);
  CHECK(part.mesh->samples == std::vector<Interval>{{0, 2}, {2, 4}});
  CHECK(part.holding->replicas == 4);
  CHECK(part.holding->samples == stage.samples);
  CHECK(part.holding->devices == stage.devices);
  CHECK(part.computed_degree() == 1);
}

TEST_CASE("devices lack the samples that another division gives them", "[plan]") {
  const Stage each = four_replicas({{0, 2}});
  Stage pairs = each;
  pairs.replicas = pairs.tensor_parallel = 2;
  pairs.samples = {{0, 1}, {1, 4}};
  CHECK(place_in(pairs, 2).replica == 1);
  CHECK(place_in(pairs, 2).shard == 0);
  CHECK(place_in(pairs, 3).shard == 1);
  CHECK(missing_samples(each, pairs) == 2.0);  // devices 2 and 3 have one of three
  CHECK(missing_samples(pairs, each) == 1.0);  // device 1 has [0, 1) and needs [1, 2)
  CHECK(missing_samples(each, each) == 0.0);
}

}  // namespace
}  // namespace pptrain
