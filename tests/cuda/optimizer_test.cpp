#include <vector>

#include "cuda/twin.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("the GPU updates weights by AdamW and SGD as the host", "[cuda]") {
  Gpu gpu;
  const std::uint64_t seed = fresh_seed();
  for (const std::size_t n : {1, 8, 1000, 1001, 70000}) {
    for (const std::size_t shift : {0, 1}) {
      for (const DType type : all_types) {
        const bool copies = type != DType::f32;
        CAPTURE(n, shift, type_name(type), seed);
        const Layout layout{0, shift};
        Twin p(gpu, 1, n, DType::f32, layout), g(gpu, 1, n, DType::f32, layout), m(gpu, 1, n, DType::f32, layout),
            v(gpu, 1, n, DType::f32, layout), copy(gpu, 1, n, type, layout);
        p.randomise(seed);
        g.randomise(seed + 1);
        m.randomise(seed + 2, 0.1);
        v.randomise(seed + 3, 0.1, 0.2);
        const AdamWStep step{0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, 0.1f, 0.05f};
        host_kernels().adamw(p.host_f32(), g.host_f32(), m.host_f32(), v.host_f32(), copies ? copy.host() : Matrix(), n,
                             step);
        gpu.kernels.adamw(p.device_f32(), g.device_f32(), m.device_f32(), v.device_f32(),
                          copies ? copy.device() : Matrix(), n, step);
        for (const Twin* changed : {&p, &m, &v}) {
          REQUIRE(largest_error(changed->device_values(), changed->host_values()) < element_bound(DType::f32));
          REQUIRE(changed->surroundings_are_untouched());
        }
        if (copies) REQUIRE(largest_error(copy.device_values(), copy.host_values()) < element_bound(type));
        if (!copies) REQUIRE(copy.same_bytes());
        host_kernels().sgd(p.host_f32(), g.host_f32(), copies ? copy.host() : Matrix(), n, 0.1f, 0.5f);
        gpu.kernels.sgd(p.device_f32(), g.device_f32(), copies ? copy.device() : Matrix(), n, 0.1f, 0.5f);
        REQUIRE(largest_error(p.device_values(), p.host_values()) < element_bound(DType::f32));
      }
    }
  }
}
