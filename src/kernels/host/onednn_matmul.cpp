#include "kernels/host/onednn_matmul.hpp"

#ifdef PPTRAIN_HAVE_ONEDNN

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <unordered_map>

#include "kernels/host/onednn_descriptions.hpp"

namespace pptrain::kernels {
namespace {

using Dim = dnnl::memory::dim;

/// The matrix, transposed if asked, as oneDNN sees it: transposition is an exchange of the strides.
dnnl::memory::desc describe(const Matrix& matrix, Transpose transpose) {
  const auto rows = static_cast<Dim>(matrix.rows), columns = static_cast<Dim>(matrix.columns),
             stride = static_cast<Dim>(matrix.stride);
  const auto type =
      matrix.type == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
  if (transpose == Transpose::yes) return {{columns, rows}, type, {1, stride}};
  return {{rows, columns}, type, {stride, 1}};
}

const char* isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41: return "sse4.1";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2 vnni";
    case dnnl::cpu_isa::avx512_core: return "avx512";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512 vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512 bf16";
    case dnnl::cpu_isa::avx512_core_amx: return "avx512 amx";
    default: return "generic";
  }
}

class OneDnnMatmul final : public Gemm {
 public:
  OneDnnMatmul() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  void multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
                const GemmOptions& options) override;
  std::string name() const override;

 private:
  /// Rows, columns, stride and type of one operand as it is stored.
  using Layout = std::tuple<std::size_t, std::size_t, std::size_t, DType>;
  using Key = std::tuple<Transpose, Layout, Transpose, Layout, Layout, bool, bool>;
  struct Product {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, bias;
  };

  Product make(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b, const Matrix& c,
               const GemmOptions& options) const;

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<Key, Product> products_;
};

std::string OneDnnMatmul::name() const {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{} ({})", version->major, version->minor, version->patch,
                     isa_name(dnnl::get_effective_cpu_isa()));
}

OneDnnMatmul::Product OneDnnMatmul::make(Transpose ta, const Matrix& a, Transpose tb,
                                         const Matrix& b, const Matrix& c,
                                         const GemmOptions& options) const {
  const auto a_desc = describe(a, ta), b_desc = describe(b, tb),
             c_desc = describe(c, Transpose::no);
  const dnnl::memory::desc bias_desc({1, static_cast<Dim>(c.columns)}, dnnl::memory::data_type::f32,
                                     dnnl::memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  if (options.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const auto matmul =
      options.bias != nullptr
          ? described<dnnl::matmul>(engine_, attributes, a_desc, b_desc, bias_desc, c_desc)
          : described<dnnl::matmul>(engine_, attributes, a_desc, b_desc, c_desc);
  const auto memory = [this](const dnnl::memory::desc& d) {
    return dnnl::memory(d, engine_, nullptr);
  };
  return {dnnl::matmul(matmul), memory(a_desc), memory(b_desc), memory(c_desc), memory(bias_desc)};
}

void OneDnnMatmul::multiply(Transpose ta, const Matrix& a, Transpose tb, const Matrix& b,
                            const Matrix& c, const GemmOptions& options) {
  const auto layout = [](const Matrix& m) { return Layout(m.rows, m.columns, m.stride, m.type); };
  const Key key(ta, layout(a), tb, layout(b), layout(c), options.accumulate,
                options.bias != nullptr);
  auto found = products_.find(key);
  if (found == products_.end())
    found = products_.emplace(key, make(ta, a, tb, b, c, options)).first;
  Product& product = found->second;
  product.a.set_data_handle(a.data);
  product.b.set_data_handle(b.data);
  product.c.set_data_handle(c.data);
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}};
  if (options.bias != nullptr) {
    product.bias.set_data_handle(const_cast<float*>(options.bias));
    arguments.emplace(DNNL_ARG_BIAS, product.bias);
  }
  product.primitive.execute(stream_, arguments);
  stream_.wait();
}

}  // namespace

std::unique_ptr<Gemm> make_onednn_matmul() { return std::make_unique<OneDnnMatmul>(); }

bool onednn_has_bf16() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
}
bool onednn_has_bf16_tiles() {
  return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx;
}

}  // namespace pptrain::kernels

#else

namespace pptrain::kernels {

std::unique_ptr<Gemm> make_onednn_matmul() { return nullptr; }

bool onednn_has_bf16() { return false; }
bool onednn_has_bf16_tiles() { return false; }

}  // namespace pptrain::kernels

#endif
