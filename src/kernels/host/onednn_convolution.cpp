#include "kernels/host/host_convolutions.hpp"

#ifdef PPTRAIN_HAVE_ONEDNN

#include <map>
#include <tuple>
#include <unordered_map>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/host_scratch.hpp"
#include "kernels/host/onednn_descriptions.hpp"

namespace pptrain::kernels {
namespace {

using Dim = dnnl::memory::dim;
using Tag = dnnl::memory::format_tag;
using Description = dnnl::memory::desc;

/// Weights lie as oneDNN likes them during a call, and are brought there from and to (out, channel,
/// row, column).
class OneDnnConvolutions final : public Convolutions {
 public:
  OneDnnConvolutions() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  DType factors(DType compute) const override { return host_factors(compute); }

  void forward(const ConvolutionForm& form, const Matrix& x, const Matrix& weight,
               const float* bias, const Matrix& y) override {
    Passes& passes = passes_of(form, samples_of(form, x), bias != nullptr);
    const dnnl::memory weights = as_wanted(passes, passes.forward.weights_desc(), weight);
    std::unordered_map<int, dnnl::memory> arguments = {
        {DNNL_ARG_SRC, at(passes.forward.src_desc(), rounded(x, form.factors, x_))},
        {DNNL_ARG_WEIGHTS, weights},
        {DNNL_ARG_DST, at(passes.forward.dst_desc(), y.data)}};
    if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, at(passes.forward.bias_desc(), bias));
    run(passes.forward_primitive, arguments);
  }

  void backward_input(const ConvolutionForm& form, const Matrix& dy, const Matrix& weight,
                      const Matrix& dx) override {
    Passes& passes = passes_of(form, samples_of(form, dx), false);
    run(passes.input_primitive,
        {{DNNL_ARG_DIFF_DST, at(passes.input.diff_dst_desc(), rounded(dy, form.factors, dy_))},
         {DNNL_ARG_WEIGHTS, as_wanted(passes, passes.input.weights_desc(), weight)},
         {DNNL_ARG_DIFF_SRC, at(passes.input.diff_src_desc(), dx.data)}});
  }

  void backward_weight(const ConvolutionForm& form, const Matrix& x, const Matrix& dy,
                       float* dweight) override {
    Passes& passes = passes_of(form, samples_of(form, x), false);
    const Description wanted = passes.weight.diff_weights_desc();
    const bool plain = wanted == passes.gradient;
    const dnnl::memory result = plain ? at(wanted, dweight) : in_scratch(wanted);
    run(passes.weight_primitive,
        {{DNNL_ARG_SRC, at(passes.weight.src_desc(), rounded(x, form.factors, x_))},
         {DNNL_ARG_DIFF_DST, at(passes.weight.diff_dst_desc(), rounded(dy, form.factors, dy_))},
         {DNNL_ARG_DIFF_WEIGHTS, result}});
    if (!plain) reorder(result, at(passes.gradient, dweight));
  }

 private:
  struct Passes {
    Description weights, gradient;  ///< as parameters have them, and their gradients
    dnnl::convolution_forward::primitive_desc forward;
    dnnl::convolution_backward_data::primitive_desc input;
    dnnl::convolution_backward_weights::primitive_desc weight;
    dnnl::convolution_forward forward_primitive;
    dnnl::convolution_backward_data input_primitive;
    dnnl::convolution_backward_weights weight_primitive;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, DType, Dim, bool>;

  static Dim samples_of(const ConvolutionForm& form, const Matrix& x) {
    return static_cast<Dim>(x.rows) / form.window.pixels();
  }

  Passes& passes_of(const ConvolutionForm& form, Dim samples, bool bias) {
    const Window& w = form.window;
    const Key key(w.height, w.width, w.kernel_height, w.kernel_width, w.stride, w.padding,
                  form.channels, form.out, form.factors, samples, bias);
    const auto found = passes_.find(key);
    return found != passes_.end() ? found->second
                                  : passes_.emplace(key, make(form, samples, bias)).first->second;
  }

  Passes make(const ConvolutionForm& form, Dim samples, bool bias) const {
    const Window& w = form.window;
    const auto f32 = dnnl::memory::data_type::f32;
    const auto type = form.factors == DType::bf16 ? dnnl::memory::data_type::bf16 : f32;
    const dnnl::memory::dims of_x = {samples, form.channels, w.height, w.width};
    const dnnl::memory::dims of_y = {samples, form.out, w.out_height(), w.out_width()};
    const dnnl::memory::dims shape = {form.out, form.channels, w.kernel_height, w.kernel_width};
    const Description x(of_x, type, Tag::nhwc), dx(of_x, f32, Tag::nhwc);
    const Description y(of_y, f32, Tag::nhwc), dy(of_y, type, Tag::nhwc);
    const Description any(shape, type, Tag::any), gradient(shape, f32, Tag::any);
    const dnnl::memory::dims strides = {w.stride, w.stride}, padding = {w.padding, w.padding};
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto kind = dnnl::prop_kind::forward_training;
    Passes made;
    made.weights = Description(shape, type, Tag::oihw);
    made.gradient = Description(shape, f32, Tag::oihw);
    const Description bias_shape({form.out}, f32, Tag::x);
    made.forward =
        bias ? described<dnnl::convolution_forward>(engine_, {}, kind, direct, x, any, bias_shape,
                                                    y, strides, padding, padding)
             : described<dnnl::convolution_forward>(engine_, {}, kind, direct, x, any, y, strides,
                                                    padding, padding);
    made.input = described_backward<dnnl::convolution_backward_data>(
        engine_, made.forward, direct, dx, any, dy, strides, padding, padding);
    made.weight = described_backward<dnnl::convolution_backward_weights>(
        engine_, made.forward, direct, x, gradient, dy, strides, padding, padding);
    made.forward_primitive = dnnl::convolution_forward(made.forward);
    made.input_primitive = dnnl::convolution_backward_data(made.input);
    made.weight_primitive = dnnl::convolution_backward_weights(made.weight);
    return made;
  }

  dnnl::memory at(const Description& description, const void* data) const {
    return {description, engine_, const_cast<void*>(data)};
  }
  void run(const dnnl::primitive& primitive,
           const std::unordered_map<int, dnnl::memory>& arguments) {
    primitive.execute(stream_, arguments);
    stream_.wait();
  }
  void reorder(const dnnl::memory& from, const dnnl::memory& to) {
    run(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }
  /// The map in the type of factors: itself, or a copy in `scratch`.
  static void* rounded(const Matrix& map, DType factors, HostScratch& scratch) {
    if (map.type == factors) return map.data;
    const Matrix copy(scratch.take_bytes(map.size() * size_of(factors)), map.rows, map.columns,
                      factors);
    host_kernels().convert(map, copy);
    return copy.data;
  }
  dnnl::memory in_scratch(const Description& description) {
    return at(description, weights_.take_bytes(description.get_size()));
  }
  dnnl::memory as_wanted(const Passes& passes, const Description& wanted, const Matrix& weight) {
    const dnnl::memory plain = at(passes.weights, weight.data);
    if (wanted == passes.weights) return plain;
    const dnnl::memory result = in_scratch(wanted);
    reorder(plain, result);
    return result;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<Key, Passes> passes_;
  HostScratch x_, dy_, weights_;
};

}  // namespace

std::unique_ptr<Convolutions> make_onednn_convolutions() {
  return std::make_unique<OneDnnConvolutions>();
}

}  // namespace pptrain::kernels

#else

namespace pptrain::kernels {

std::unique_ptr<Convolutions> make_onednn_convolutions() { return nullptr; }

}  // namespace pptrain::kernels

#endif
