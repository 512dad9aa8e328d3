// Convolutions, pooling, batch normalisation and what draws images on a GPU against the host.
#include "cuda/feature_maps.hpp"

#include "cuda/gemm.hpp"
#include "cuda/twin.hpp"
#include "kernels/host/host_convolutions.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// A GPU with its feature maps.
struct Maps {
  Gpu gpu;
  std::unique_ptr<Gemm> gemm = make_cuda_gemm(gpu.device, gpu.kernels);
  CudaFeatureMaps maps{gpu.device, *gemm};
  std::uint64_t seed = fresh_seed();

  Twin twin(std::int64_t rows, std::int64_t columns, double centre = 0.0) {
    Twin made(gpu, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    made.randomise(++seed, 1.0, centre);
    return made;
  }
};

/// Sides, windows, strides and padding of the networks that we have, and odd ones.
const std::vector<Window> windows = {{8, 8, 3, 3, 1, 1}, {9, 7, 3, 3, 2, 1}, {16, 16, 7, 7, 2, 3},
                                     {5, 6, 1, 1, 1, 0}, {7, 7, 1, 1, 2, 0}, {4, 4, 4, 4, 1, 0},
                                     {6, 5, 2, 3, 2, 1}};
constexpr std::int64_t samples = 3;

/// Sums of fp32 in different orders, relative to the largest number.
void require_close(const Twin& twin) {
  const Values expected = twin.host_values();
  double largest = 1.0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  REQUIRE(largest_error(twin.device_values(), expected, largest) < 5e-6);
  REQUIRE(twin.surroundings_are_untouched());
}

}  // namespace

TEST_CASE("convolutions on a GPU are those of the host") {
  Maps m;
  for (const Window& w : windows) {
    for (const auto& [channels, out] : {std::pair<std::int64_t, std::int64_t>{3, 8}, {16, 5}}) {
      for (const bool biased : {false, true}) {
        CAPTURE(m.seed, w.height, w.width, w.kernel_height, w.stride, w.padding, channels, biased);
        const ConvolutionForm form{w, channels, out};
        Twin x = m.twin(samples * w.pixels(), channels),
             dx = m.twin(samples * w.pixels(), channels);
        Twin y = m.twin(samples * w.out_pixels(), out), dy = m.twin(samples * w.out_pixels(), out);
        Twin weight = m.twin(out, channels * w.area()), dweight = m.twin(out, channels * w.area()),
             bias = m.twin(1, out);
        Convolutions &gpu = m.maps.convolutions(), &host = host_feature_maps().convolutions();
        gpu.forward(form, x.device(), weight.device(), biased ? bias.device_f32() : nullptr,
                    y.device());
        host.forward(form, x.host(), weight.host(), biased ? bias.host_f32() : nullptr, y.host());
        require_close(y);
        gpu.backward_input(form, dy.device(), weight.device(), dx.device());
        host.backward_input(form, dy.host(), weight.host(), dx.host());
        require_close(dx);
        gpu.backward_weight(form, x.device(), dy.device(), dweight.device_f32());
        host.backward_weight(form, x.host(), dy.host(), dweight.host_f32());
        require_close(dweight);
      }
    }
  }
}

TEST_CASE("more samples than there is room for patches, a part at a time") {
  Maps m;
  // A sample's patches take 16 MiB.
  const ConvolutionForm form{{32, 32, 32, 32, 1, 16}, 4, 2};
  REQUIRE(form.window.out_pixels() * form.channels * form.window.area() * 4 > (16 << 20));
  Twin x = m.twin(5 * form.window.pixels(), 4), weight = m.twin(2, 4 * form.window.area());
  Twin dy = m.twin(5 * form.window.out_pixels(), 2), dweight = m.twin(2, 4 * form.window.area());
  m.maps.convolutions().backward_weight(form, x.device(), dy.device(), dweight.device_f32());
  host_feature_maps().convolutions().backward_weight(form, x.host(), dy.host(), dweight.host_f32());
  require_close(dweight);
}

TEST_CASE("pooling on a GPU is that of the host, bit for bit") {
  Maps m;
  for (const Window& w : windows) {
    CAPTURE(m.seed, w.height, w.width, w.kernel_height, w.stride, w.padding);
    Twin x = m.twin(samples * w.pixels(), 5), dx = m.twin(samples * w.pixels(), 5);
    Twin y = m.twin(samples * w.out_pixels(), 5), dy = m.twin(samples * w.out_pixels(), 5);
    for (std::size_t row = 0; row < x.host().rows; row += 3) x.set(row, 1, 2.0);  // equal ones
    x.set(4, 2, NAN);
    std::vector<std::int32_t> chosen(y.host().size(), -7);
    const DeviceValues<std::int32_t> on_device(m.gpu, chosen);
    m.maps.max_pool_forward(w, x.device(), y.device(), on_device.data());
    host_feature_maps().max_pool_forward(w, x.host(), y.host(), chosen.data());
    REQUIRE(y.same_bytes());
    REQUIRE(on_device.fetch() == chosen);
    m.maps.max_pool_backward(w, dy.device(), on_device.data(), dx.device());
    host_feature_maps().max_pool_backward(w, dy.host(), chosen.data(), dx.host());
    REQUIRE(dx.device_values() == dx.host_values());
    x.set(4, 2, 1.0);
    m.maps.average_pool_forward(w, x.device(), y.device());
    host_feature_maps().average_pool_forward(w, x.host(), y.host());
    require_close(y);
    m.maps.average_pool_backward(w, dy.device(), dx.device());
    host_feature_maps().average_pool_backward(w, dy.host(), dx.host());
    require_close(dx);
  }
}

TEST_CASE("batch normalisation on a GPU is that of the host") {
  Maps m;
  for (const auto& [rows, channels] :
       {std::pair<std::int64_t, std::int64_t>{2, 3}, {700, 70}, {5000, 1}, {33, 129}}) {
    CAPTURE(m.seed, rows, channels);
    Twin x = m.twin(rows, channels, 3.0), y = m.twin(rows, channels),
         dy = m.twin(rows, channels, 0.5);
    Twin dx = m.twin(rows, channels), moments = m.twin(4, channels), sums = m.twin(2, channels);
    Twin mean = m.twin(1, channels), variance = m.twin(1, channels),
         gain = m.twin(1, channels, 1.0);
    Twin offset = m.twin(1, channels), running = m.twin(1, channels), counter = m.twin(1, 1);
    const auto width = static_cast<std::size_t>(channels);
    const std::vector<double> of_devices = {static_cast<double>(rows), 0.0,
                                            static_cast<double>(rows)};
    Twin all = m.twin(6, channels);
    for (const std::size_t device : {0, 2}) {
      m.maps.batch_moments(x.device(), all.device_f32() + 2 * width * device);
      host_feature_maps().batch_moments(x.host(), all.host_f32() + 2 * width * device);
    }
    require_close(all);
    m.maps.join_moments(all.device_f32(), of_devices, width, mean.device_f32(),
                        variance.device_f32());
    host_feature_maps().join_moments(all.host_f32(), of_devices, width, mean.host_f32(),
                                     variance.host_f32());
    require_close(mean);
    require_close(variance);
    m.maps.update_running(running.device_f32(), variance.device_f32(), 0.1F, 1.5F, width);
    host_feature_maps().update_running(running.host_f32(), variance.host_f32(), 0.1F, 1.5F, width);
    require_close(running);
    m.maps.count(counter.device_f32());
    host_feature_maps().count(counter.host_f32());
    require_close(counter);
    m.maps.batch_norm_forward({x.device(), mean.device_f32(), variance.device_f32(), 1e-5F},
                              gain.device_f32(), offset.device_f32(), y.device());
    host_feature_maps().batch_norm_forward({x.host(), mean.host_f32(), variance.host_f32(), 1e-5F},
                                           gain.host_f32(), offset.host_f32(), y.host());
    require_close(y);
    m.maps.batch_norm_sums({x.device(), mean.device_f32(), variance.device_f32(), 1e-5F},
                           dy.device(), sums.device_f32());
    host_feature_maps().batch_norm_sums({x.host(), mean.host_f32(), variance.host_f32(), 1e-5F},
                                        dy.host(), sums.host_f32());
    require_close(sums);
    m.maps.batch_norm_backward({x.device(), mean.device_f32(), variance.device_f32(), 1e-5F},
                               dy.device(), gain.device_f32(), sums.device_f32(),
                               static_cast<double>(rows), dx.device());
    host_feature_maps().batch_norm_backward({x.host(), mean.host_f32(), variance.host_f32(), 1e-5F},
                                            dy.host(), gain.host_f32(), sums.host_f32(),
                                            static_cast<double>(rows), dx.host());
    require_close(dx);
  }
}

TEST_CASE("maps are flattened, enlarged and ordered on a GPU as on the host") {
  Maps m;
  for (const MapSize map : {MapSize{1, 1}, {2, 3}, {4, 4}, {8, 6}}) {
    CAPTURE(m.seed, map.height, map.width);
    Twin x = m.twin(samples * map.pixels(), 8), dx = m.twin(samples * map.pixels(), 8);
    Twin flat = m.twin(samples, 8 * map.pixels());
    m.maps.flatten(samples, x.device(), flat.device(), false);
    host_feature_maps().flatten(samples, x.host(), flat.host(), false);
    REQUIRE(flat.same_bytes());
    m.maps.flatten(samples, dx.device(), flat.device(), true);
    REQUIRE(dx.device_values() == x.host_values());
    for (const EnlargeKind kind : {EnlargeKind::bicubic, EnlargeKind::shuffle}) {
      const std::int64_t channels = kind == EnlargeKind::shuffle ? 2 : 8;
      Twin y = m.twin(samples * 4 * map.pixels(), channels),
           dy = m.twin(samples * 4 * map.pixels(), channels);
      m.maps.enlarge(kind, map, x.device(), y.device());
      host_feature_maps().enlarge(kind, map, x.host(), y.host());
      require_close(y);
      m.maps.enlarge_backward(kind, map, dy.device(), dx.device());
      host_feature_maps().enlarge_backward(kind, map, dy.host(), dx.host());
      require_close(dx);
    }
    for (const bool back : {false, true}) {
      if (map.height % 2 != 0 || map.width % 2 != 0) continue;
      m.maps.order_tiles(map, 2, x.device(), dx.device(), back);
      host_feature_maps().order_tiles(map, 2, x.host(), dx.host(), back);
      REQUIRE(dx.same_bytes());
    }
    std::vector<double> loss = {1.5};
    const DeviceValues<double> on_device(m.gpu, loss);
    Twin goal = m.twin(samples * map.pixels(), 8);
    m.maps.square_loss(x.device(), goal.device_f32(), 0.25, on_device.data());
    host_feature_maps().square_loss(x.host(), goal.host_f32(), 0.25, loss.data());
    REQUIRE(on_device.fetch()[0] == Approx(loss[0]));
    REQUIRE(loss[0] > 1.5);
    m.maps.square_loss_gradient(x.device(), goal.device_f32(), 0.25F);
    host_feature_maps().square_loss_gradient(x.host(), goal.host_f32(), 0.25F);
    require_close(x);
  }
}
