// Rows of routers and of experts on a GPU against the host.
#include "cuda/experts.hpp"

#include "cuda/twin.hpp"
#include "kernels/expert_order.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Rows and experts of one router.
struct Case {
  std::size_t rows, experts, chosen;
  bool normalised;
};
const std::vector<Case> cases = {{1, 1, 1, true},   {7, 4, 2, true},    {300, 5, 2, false},
                                 {64, 64, 8, true}, {600, 3, 3, false}, {257, 33, 1, true}};

/// Logits and choices of a case on both sides.
struct Routed {
  Gpu& gpu;
  Case c;
  std::unique_ptr<ExpertKernels> owned;
  ExpertKernels& kernels;
  Twin logits, choice;

  Routed(Gpu& one, const Case& of, std::uint64_t seed)
      : gpu(one),
        c(of),
        owned(make_cuda_experts(gpu.device)),
        kernels(*owned),
        logits(gpu, c.rows, c.experts, DType::f32, {3, 0}),
        choice(gpu, c.rows, 2 * c.chosen, DType::f32, {1, 0}) {
    logits.randomise(seed, 2.0);
    // Some are equal, some rows are no numbers.
    for (std::size_t row = 0; row < c.rows && c.experts > 2; row += 5) {
      logits.set(row, 1, 3.0);
      logits.set(row, 2, 3.0);
    }
    kernels.choose(logits.device(), c.normalised, choice.device());
    host_experts().choose(logits.host(), c.normalised, choice.host());
  }
};

/// Arithmetic of fp32 in another order, or with fused multiply-add.
constexpr double bound = 2e-6;

}  // namespace

TEST_CASE("rows choose the same experts on a GPU, with the host's weights") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const Case& c : cases) {
    CAPTURE(seed, c.rows, c.experts, c.chosen);
    Routed routed(gpu, c, seed);
    REQUIRE(largest_error(routed.choice.device_values(), routed.choice.host_values()) < bound);
    REQUIRE(routed.choice.surroundings_are_untouched());
    const TestMatrix choice = routed.choice.fetch();
    for (std::size_t row = 0; row < c.rows; ++row) {
      for (std::size_t j = c.chosen; j < 2 * c.chosen; ++j) {
        REQUIRE(choice.get(row, j) == routed.choice.host().at<float>(row)[j]);
      }
    }
    Twin dchoice(gpu, c.rows, 2 * c.chosen), dlogits(gpu, c.rows, c.experts, DType::f32, {2, 0});
    dchoice.randomise(seed + 1);
    routed.kernels.choose_backward(routed.logits.device(), routed.choice.device(), c.normalised,
                                   dchoice.device(), dlogits.device());
    host_experts().choose_backward(routed.logits.host(), routed.choice.host(), c.normalised,
                                   dchoice.host(), dlogits.host());
    REQUIRE(largest_error(dlogits.device_values(), dlogits.host_values()) < bound);
    REQUIRE(dlogits.surroundings_are_untouched());
    std::vector<double> sums(2 * c.experts);
    const DeviceValues<double> on_device(gpu, sums);
    routed.kernels.sum(routed.logits.device(), routed.choice.device(), on_device.data());
    host_experts().sum(routed.logits.host(), routed.choice.host(), sums.data());
    const std::vector<double> of_device = on_device.fetch();
    for (std::size_t i = 0; i < sums.size(); ++i)
      REQUIRE(of_device[i] == Approx(sums[i]).epsilon(1e-6));
    std::vector<float> weights(c.experts);
    for (std::size_t e = 0; e < c.experts; ++e) weights[e] = static_cast<float>(e % 7) - 2.5F;
    const DeviceValues<float> weights_on_device(gpu, weights);
    routed.kernels.weighted_softmax_gradient(routed.logits.device(), weights_on_device.data(), 0.5,
                                             dlogits.device());
    host_experts().weighted_softmax_gradient(routed.logits.host(), weights.data(), 0.5,
                                             dlogits.host());
    REQUIRE(largest_error(dlogits.device_values(), dlogits.host_values()) < bound);
  }
}

TEST_CASE("a GPU leaves out the choices that the host leaves out") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t capacity : {1, 3, 10, 1000}) {
    CAPTURE(seed, capacity);
    Routed routed(gpu, {300, 5, 2, false}, seed);
    routed.kernels.limit(5, 50, capacity, routed.choice.device());
    host_experts().limit(5, 50, capacity, routed.choice.host());
    const TestMatrix choice = routed.choice.fetch();
    for (std::size_t row = 0; row < 300; ++row) {
      for (std::size_t j = 2; j < 4; ++j)
        REQUIRE(choice.get(row, j) == routed.choice.host().at<float>(row)[j]);
    }
  }
}

TEST_CASE("rows go to experts and back on a GPU as on the host") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const Case& c : cases) {
    const auto last = static_cast<std::int64_t>(c.experts);
    for (const Interval& own :
         {Interval{0, last}, {last / 3, (2 * last + 2) / 3}, {last - 1, last}}) {
      CAPTURE(seed, c.rows, c.experts, c.chosen, own.begin, own.end);
      Routed routed(gpu, c, seed);
      routed.kernels.limit(c.experts, c.rows, c.rows / 2 + 1, routed.choice.device());
      host_experts().limit(c.experts, c.rows, c.rows / 2 + 1, routed.choice.host());
      Arena arena;
      const ExpertOrder host(host_experts(), routed.choice.host(), own, arena);
      const ExpertOrder device(routed.kernels, routed.choice.device(), own, gpu.arena);
      REQUIRE(device.num_dispatched() == host.num_dispatched());
      for (std::int64_t e = own.begin; e < own.end; ++e) REQUIRE(device.count(e) == host.count(e));
      std::vector<std::int32_t> places(c.rows * c.chosen);
      gpu.device.download(places.data(), device.places().data,
                          places.size() * sizeof(std::int32_t));
      REQUIRE(std::equal(places.begin(), places.end(), host.places().data));
      const std::size_t rows = host.num_dispatched();
      for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
        Twin x(gpu, c.rows, 19, type, {2, 0}), dispatched(gpu, rows + 1, 19, type, {1, 0});
        x.randomise(seed + 1);
        dispatched.randomise(seed + 3);  // the row behind the last
        routed.kernels.dispatch(device.places(), x.device(),
                                dispatched.device().rows_from(0, rows));
        host_experts().dispatch(host.places(), x.host(), dispatched.host().rows_from(0, rows));
        REQUIRE(dispatched.same_bytes());
        std::vector<float> weights(rows + 1, 0.5F), products(rows + 1, 0.0F);
        const DeviceValues<float> weights_there(gpu, weights), products_there(gpu, products);
        routed.kernels.take_weights(device.places(), routed.choice.device(), weights_there.data());
        host_experts().take_weights(host.places(), routed.choice.host(), weights.data());
        Twin weighed(gpu, rows + 1, 19, type);
        routed.kernels.weigh(dispatched.device(), weights_there.data(), weighed.device());
        host_experts().weigh(dispatched.host(), weights.data(), weighed.host());
        REQUIRE(largest_error(weighed.device_values(), weighed.host_values()) <
                bound + rounding(type));
        routed.kernels.row_products(dispatched.device(), weighed.device(), products_there.data());
        host_experts().row_products(dispatched.host(), weighed.host(), products.data());
        const std::vector<float> found = products_there.fetch();
        for (std::size_t r = 0; r < rows; ++r) {
          REQUIRE(found[r] == Approx(products[r])
                                  .epsilon(1e-5 + 4 * rounding(type))
                                  .margin(1e-5 + 20 * rounding(type)));
        }
      }
      Twin made(gpu, rows + 1, 33), sums(gpu, c.rows, 33, DType::f32, {1, 0}),
          dchoice(gpu, c.rows, 2 * c.chosen);
      made.randomise(seed + 2);
      routed.kernels.combine(device.places(), made.device(), sums.device());
      host_experts().combine(host.places(), made.host(), sums.host());
      REQUIRE(sums.same_bytes());
      const std::vector<float> values(made.host_f32(), made.host_f32() + rows + 1);
      const DeviceValues<float> values_there(gpu, values);
      routed.kernels.give_weights(device.places(), values_there.data(), dchoice.device());
      host_experts().give_weights(host.places(), values.data(), dchoice.host());
      REQUIRE(dchoice.same_bytes());
      Twin packed(gpu, rows + 1, 3);
      routed.kernels.pack_choices(device.places(), routed.choice.device(), 4.0F, packed.device());
      host_experts().pack_choices(host.places(), routed.choice.host(), 4.0F, packed.host());
      const TestMatrix there = packed.fetch();
      for (std::size_t r = 0; r < rows; ++r) {
        REQUIRE(there.get(r, 0) == Approx(packed.host().at<float>(r)[0]).epsilon(1e-5));
        REQUIRE(there.get(r, 1) == packed.host().at<float>(r)[1]);
        REQUIRE(there.get(r, 2) == 4.0);
      }
    }
  }
}

TEST_CASE("the weights of an expert that all rows share, on a GPU as on the host") {
  Gpu gpu;
  constexpr std::size_t rows = 300;
  Twin logits(gpu, rows, 1, DType::f32, {2, 0}), dlogits(gpu, rows, 1, DType::f32, {1, 0});
  logits.randomise(fresh_seed(), 3.0);
  std::vector<float> weights(rows), products(rows, 0.75F);
  const DeviceValues<float> weights_there(gpu, weights), products_there(gpu, products);
  const auto owned = make_cuda_experts(gpu.device);
  ExpertKernels& kernels = *owned;
  kernels.sigmoid(logits.device(), weights_there.data());
  host_experts().sigmoid(logits.host(), weights.data());
  kernels.sigmoid_backward(products_there.data(), weights_there.data(), dlogits.device());
  host_experts().sigmoid_backward(products.data(), weights.data(), dlogits.host());
  const std::vector<float> found = weights_there.fetch();
  for (std::size_t r = 0; r < rows; ++r) REQUIRE(found[r] == Approx(weights[r]).epsilon(1e-6));
  REQUIRE(largest_error(dlogits.device_values(), dlogits.host_values()) < bound);
  REQUIRE(dlogits.surroundings_are_untouched());
}
