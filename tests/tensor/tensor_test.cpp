#include "tensor/tensor.hpp"

#include "support/catch.hpp"

using namespace pptrain;

TEST_CASE("views share the memory of their matrix", "[tensor]") {
  Arena arena;
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor tensor(arena, 4, 6, type);
    const Matrix view = tensor.matrix().rows_from(1, 2).columns_from(2, 3);
    REQUIRE(view.rows == 2);
    REQUIRE(view.columns == 3);
    REQUIRE(view.stride == 6);
    const auto distance =
        static_cast<std::byte*>(view.data) - static_cast<std::byte*>(tensor.matrix().data);
    REQUIRE(distance == static_cast<std::ptrdiff_t>(8 * size_of(type)));
  }
}
