#include "data/synthetic_drawings.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace pptrain {
namespace {

struct Sample {
  std::vector<float> numbers, drawing;

  Sample(const SyntheticDrawings& table, std::int64_t index, std::size_t inputs, std::size_t pixels)
      : numbers(inputs), drawing(pixels) {
    SampleSlot slot;
    slot.features = numbers.data();
    slot.drawing = drawing.data();
    table.row(index, slot);
  }
};

TEST_CASE("synthetic drawings follow from their numbers", "[drawings]") {
  const SyntheticDrawings train({7, 3, 2, 5, 3, "train"}), again({7, 3, 2, 5, 3, "train"});
  const SyntheticDrawings held_back({7, 3, 2, 5, 3, "validation"});
  const Sample sample(train, 11, 7, 30);
  CHECK(sample.numbers == Sample(again, 11, 7, 30).numbers);
  CHECK(sample.numbers != Sample(train, 12, 7, 30).numbers);
  CHECK(sample.numbers != Sample(held_back, 11, 7, 30).numbers);
  // The last channel takes the last number, the first and the second; its second row and fourth
  // column are here.
  const double value = sample.numbers[6] + sample.numbers[0] * 1.0 + sample.numbers[1] * 0.5;
  CHECK(sample.drawing[(5 + 3) * 3 + 2] == Approx(std::tanh(value)).epsilon(1e-5));
  for (const float pixel : sample.drawing) CHECK(std::abs(pixel) <= 1.0F);
}

}  // namespace
}  // namespace pptrain
