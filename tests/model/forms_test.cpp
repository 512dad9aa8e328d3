#include "model/forms.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("a window has as many places as it can slide to", "[model]") {
  // The first convolution of ResNet-50, and the pooling behind it.
  const Window first = {224, 224, 7, 7, 2, 3};
  CHECK((first.out_height() == 112 && first.out_width() == 112));
  CHECK((first.pixels() == 224 * 224 && first.out_pixels() == 112 * 112 && first.area() == 49));
  CHECK(Window{112, 112, 3, 3, 2, 1}.out_pixels() == 56 * 56);
  // 4 x 9 pixels by 2 x 3, three at a time: the last two rows are under no window.
  const Window wide = {4, 9, 2, 3, 3, 0};
  CHECK((wide.out_height() == 1 && wide.out_width() == 3));
  CHECK((wide.pixels() == 36 && wide.out_pixels() == 3 && wide.area() == 6));
  CHECK(MapSize{3, 5}.pixels() == 15);
}

TEST_CASE("a window fits where it has a place, and a pixel of the map at every one", "[model]") {
  CHECK(Window{4, 4, 4, 4, 1, 0}.fits());
  CHECK_FALSE(Window{4, 4, 5, 4, 1, 0}.fits());
  CHECK_FALSE(Window{4, 4, 4, 5, 1, 0}.fits());
  CHECK(Window{4, 4, 6, 6, 1, 1}.fits());  // with the padding
  CHECK(Window{4, 4, 3, 3, 1, 2}.fits());
  // At the corner nothing but padding would be under it.
  CHECK_FALSE(Window{4, 4, 3, 3, 1, 3}.fits());
  CHECK_FALSE(Window{4, 4, 3, 2, 1, 2}.fits());
  CHECK_FALSE(Window{0, 4, 1, 1, 1, 0}.fits());
  CHECK_FALSE(Window{4, 0, 1, 1, 1, 0}.fits());
}

}  // namespace
}  // namespace pptrain
