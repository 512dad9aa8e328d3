#pragma once

#include <dnnl.hpp>

namespace pptrain::kernels {

/// The primitive descriptor of an operation that `description` says, in the order of oneDNN's
/// constructors: version 2 wants it as an operation descriptor, version 3 by itself.
template <class Primitive, class... Description>
typename Primitive::primitive_desc described(const dnnl::engine& engine,
                                             const dnnl::primitive_attr& attributes,
                                             const Description&... description) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, description..., attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(description...), attributes,
                                            engine);
#endif
}

/// The primitive descriptor of a backward pass, beside that of its forward pass.
template <class Primitive, class Forward, class... Description>
typename Primitive::primitive_desc described_backward(const dnnl::engine& engine,
                                                      const Forward& forward,
                                                      const Description&... description) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, description..., forward);
#else
  return
      typename Primitive::primitive_desc(typename Primitive::desc(description...), engine, forward);
#endif
}

}  // namespace pptrain::kernels
