#include "model/operators.hpp"

#include <numbers>
#include <string>

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// "distance:bucket" wherever the bucket is another one than that of the distance before.
std::string changes(const DistanceBuckets& buckets, std::int64_t first, std::int64_t last) {
  std::string text;
  for (std::int64_t d = first + 1; d <= last; ++d) {
    const std::int64_t bucket = bucket_of(buckets, d);
    if (bucket != bucket_of(buckets, d - 1))
      text += std::to_string(d) + ":" + std::to_string(bucket) + " ";
  }
  return text;
}

TEST_CASE("distances are in the buckets that T5Attention of transformers has", "[families]") {
  CHECK(changes({32, 128, true}, -300, 300) ==
        "-90:14 -63:13 -45:12 -31:11 -22:10 -15:9 -11:8 -7:7 -6:6 -5:5 -4:4 -3:3 -2:2 -1:1 0:0 "
        "1:17 2:18 3:19 4:20 "
        "5:21 6:22 7:23 8:24 12:25 16:26 23:27 32:28 46:29 64:30 91:31 ");
  CHECK(changes({32, 128, false}, -300, 300) ==
        "-112:30 -98:29 -86:28 -76:27 -66:26 -58:25 -51:24 -45:23 -39:22 -34:21 -30:20 -26:19 "
        "-23:18 -20:17 -18:16 "
        "-15:15 -14:14 -13:13 -12:12 -11:11 -10:10 -9:9 -8:8 -7:7 -6:6 -5:5 -4:4 -3:3 -2:2 -1:1 "
        "0:0 ");
  // At 16 the logarithm is a whole number.
  CHECK(bucket_of({16, 32, false}, -15) == 11);
  CHECK(bucket_of({16, 32, false}, -16) == 12);
  CHECK(bucket_of({16, 32, false}, 7) == 0);
  CHECK(bucket_of({16, 32, true}, -1000) == 7);
  CHECK(bucket_of({16, 32, true}, 1000) == 15);
}

TEST_CASE("positions turn by powers of theta, which a scaling divides where wavelengths are long",
          "[families]") {
  using Scaling = RotaryForm::Scaling;
  RotaryForm form = {.theta = 10000.0, .rotated = 4};
  CHECK(rotary_frequency(form, 0) == 1.0);
  CHECK(rotary_frequency(form, 1) == Approx(0.01));
  form.factor = 8.0;
  CHECK(rotary_frequency(form, 1) == Approx(0.01));  // of no scaling
  form.scaling = Scaling::linear;
  CHECK(rotary_frequency(form, 0) == 1.0 / 8.0);
  CHECK(rotary_frequency(form, 1) == Approx(0.01 / 8.0));
  // Llama 3's form keeps wavelengths that fit the original length four times, and divides those
  // that do not fit it once; one that fits it 2.5 times is half of each.
  form.scaling = Scaling::llama3;
  const auto second = [&](double fits) {
    form.original_length = fits * 2.0 * std::numbers::pi / 0.01;
    return rotary_frequency(form, 1);
  };
  CHECK(second(5.0) == Approx(0.01));
  CHECK(second(2.5) == Approx(0.01 * (0.5 + 0.5 / 8.0)));
  CHECK(second(0.9) == Approx(0.01 / 8.0));
}

TEST_CASE("a value is whole where no axis divides it, and its rows where experts do",
          "[families]") {
  Value value;
  CHECK((value.is_whole() && value.has_all_columns()));
  value.divided.axis = ShardAxis::experts;
  CHECK((!value.is_whole() && value.has_all_columns()));
  value.divided.axis = ShardAxis::columns;
  CHECK((!value.is_whole() && !value.has_all_columns()));
}

TEST_CASE("an operator works in place where its first input is its result", "[families]") {
  Operator op = {op::Addition{}, {3, 5}, 3, {}};
  CHECK(op.in_place());
  CHECK((op.as<op::Addition>() != nullptr && op.as<op::Scaling>() == nullptr));
  op.output = 5;
  CHECK_FALSE(op.in_place());
  op.output.reset();
  CHECK_FALSE(op.in_place());
  op = {op::Features{}, {}, 0, {}};
  CHECK_FALSE(op.in_place());
}

}  // namespace
}  // namespace pptrain
