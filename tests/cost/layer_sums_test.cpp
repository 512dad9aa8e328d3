#include "cost/layer_sums.hpp"

#include "instances.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

Profile three_layers() {
  Profile profile;
  profile.layers = {layer("a", 1, 2, 3), layer("b", 2, 2, 2), layer("c", 4, 1, 1)};
  for (int l = 0; l < 3; ++l) {
    profile.layers[l].parameters = 10.0 * (l + 1);
    profile.layers[l].stored_bytes = 100.0;
    profile.layers[l].output_bytes = 5.0 + l;
    profile.layers[l].tensor_parallel_allreduce_bytes = l == 1 ? 8.0 : 0.0;
  }
  add_degree(profile, 2);
  return profile;
}

}  // namespace

TEST_CASE("sums over layers agree with adding the layers up", "[cost]") {
  const Profile profile = three_layers();
  const Cluster cluster = nodes_of(1, 2);
  const Instance instance = {profile, cluster, 4};
  LayerSums sums(instance);
  CHECK(sums.num_layers() == 3);
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    const ReplicaGroup group = {{0}, {1000.0, 0.5}, 3.0};
    const PassSums& pass = sums.times(group, 2, recompute);
    for (int begin = 0; begin < 3; ++begin) {
      for (int end = begin + 1; end <= 3; ++end) {
        const PassSeconds expected = layers_seconds(instance, group, {begin, end}, 2, recompute);
        CHECK(pass.of(begin, end).forward == Approx(expected.forward).epsilon(1e-12));
        CHECK(pass.of(begin, end).backward == Approx(expected.backward).epsilon(1e-12));
        CHECK(pass.of(begin, end).total == Approx(expected.total).epsilon(1e-12));
      }
    }
    CHECK(&sums.times(group, 2, recompute) == &pass);
  }
  CHECK(sums.parameters(1, 3) == 50.0);
  CHECK(sums.stored_bytes(0, 3, Recompute::none) == 300.0);
  CHECK(sums.stored_bytes(0, 3, Recompute::full) == 0.0 + 5.0 + 6.0);
}
