#include <deque>
#include <vector>

#include "cuda/twin.hpp"
#include "kernels/bodies/update_steps.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

constexpr AdamWStep adamw_step{0.01f, 0.9f, 0.95f, 1e-8f, 0.5f, 0.1f, 0.05f};

const UpdateStep steps[] = {adamw_step, SgdStep{0.1f, 0.5f}, MomentumStep{0.1f, 0.9f, 0.5f, false},
                            MomentumStep{0.1f, 0.9f, 0.5f, true},
                            LionStep{0.01f, 0.9f, 0.99f, 0.5f}};

/// Weights with gradients and state.
struct Run {
  Twin p, g, m, v, copy;

  Run(Gpu& gpu, std::size_t n, DType copy_type, Layout layout, std::uint64_t seed)
      : p(gpu, 1, n, DType::f32, layout),
        g(gpu, 1, n, DType::f32, layout),
        m(gpu, 1, n, DType::f32, layout),
        v(gpu, 1, n, DType::f32, layout),
        copy(gpu, 1, n, copy_type, layout) {
    p.randomise(seed);
    g.randomise(seed + 1);
    m.randomise(seed + 2, 0.1);
    v.randomise(seed + 3, 0.1, 0.2);
  }

  bool has_copy() const { return copy.host().type != DType::f32; }
  UpdateRun host(float decay) const {
    return {p.host_f32(),
            g.host_f32(),
            m.host_f32(),
            v.host_f32(),
            has_copy() ? copy.host() : Matrix(),
            p.host().columns,
            decay};
  }
  UpdateRun device(float decay) const {
    return {p.device_f32(),
            g.device_f32(),
            m.device_f32(),
            v.device_f32(),
            has_copy() ? copy.device() : Matrix(),
            p.host().columns,
            decay};
  }
  void check() const {
    for (const Twin* changed : {&p, &m, &v}) {
      REQUIRE(largest_error(changed->device_values(), changed->host_values()) <
              element_bound(DType::f32));
      REQUIRE(changed->surroundings_are_untouched());
    }
    if (!has_copy()) {
      REQUIRE(copy.same_bytes());
      return;
    }
    REQUIRE(largest_error(copy.device_values(), copy.host_values()) <
            element_bound(copy.host().type));
    REQUIRE(copy.surroundings_are_untouched());
  }
};

}  // namespace

TEST_CASE("the GPU updates weights by AdamW, SGD and Lion as the host", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t n : {1, 8, 1000, 1001, 70000}) {
    for (const std::size_t shift : {0, 1}) {
      for (const DType type : all_types) {
        CAPTURE(n, shift, type_name(type), seed);
        const Run run(gpu, n, type, {0, shift}, seed);
        const UpdateRun host = run.host(0.1f), device = run.device(0.1f);
        for (const UpdateStep& step : steps) {
          CAPTURE(step.step.index());
          REQUIRE(host_kernels().update(&host, 1, step) == 1);
          REQUIRE(gpu.kernels.update(&device, 1, step) == 1);
          run.check();
        }
      }
    }
  }
}

TEST_CASE("the GPU updates many runs in one launch, each as it is", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const DType type : all_types) {
    CAPTURE(type_name(type), seed);
    std::deque<Run> all;  // more than one launch takes; small, large and empty ones, aligned or
                          // not, some without copies
    std::vector<UpdateRun> host, device;
    const std::vector<std::size_t> sizes{7, 40000, 0, 768, 16384, 16385};
    for (std::size_t r = 0; r < 45; ++r) {
      const DType copy_type = r % 5 == 4 ? DType::f32 : type;
      all.emplace_back(gpu, sizes[r % sizes.size()], copy_type, Layout{0, r % 2}, seed + 10 * r);
      host.push_back(all.back().host(r % 3 == 0 ? 0.0f : 0.1f));
      device.push_back(all.back().device(r % 3 == 0 ? 0.0f : 0.1f));
    }
    for (const UpdateRun& run : host) host_kernels().update(&run, 1, adamw_step);
    std::size_t done = 0, launches = 0;
    for (; done < device.size(); ++launches) {
      done += gpu.kernels.update(&device[done], device.size() - done, adamw_step);
    }
    REQUIRE(done == device.size());
    REQUIRE(launches == 2);
    for (const Run& run : all) run.check();
  }
}
