#include "model/build/file_layout.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

ParameterSpec parameter(const std::vector<std::int64_t>& shape, FileLayout layout) {
  ParameterSpec spec;
  spec.name = "own.weight";
  spec.shape = shape;
  spec.layout = layout;
  return spec;
}

/// Where each of the elements lies in the file, as the runs say.
std::vector<std::int64_t> places(const ParameterSpec& spec, Interval elements) {
  std::vector<std::int64_t> all;
  std::int64_t next = elements.begin;
  for_each_run(spec, elements, [&](const LayoutRun& run) {
    CHECK(run.ours.begin == next);
    next = run.ours.end;
    for (std::int64_t i = 0; i < run.ours.size(); ++i) all.push_back(run.theirs + i * run.stride);
  });
  CHECK(next == elements.end);
  return all;
}

using Places = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;

TEST_CASE("a parameter is a tensor of its own in a file, in other dimensions at most", "[model]") {
  ParameterSpec spec = parameter({2, 12}, FileLayout::same);
  CHECK(file_name(spec) == "own.weight");
  CHECK(file_shape(spec) == Shape{2, 12});
  spec.file_shape = {2, 3, 2, 2};
  CHECK(file_shape(spec) == Shape{2, 3, 2, 2});
  CHECK(places(spec, {11, 14}) == Places{11, 12, 13});
}

TEST_CASE("a transposed parameter goes down the columns of the file's", "[model]") {
  const ParameterSpec spec = parameter({3, 2}, FileLayout::transposed);
  CHECK(file_shape(spec) == Shape{2, 3});
  CHECK(places(spec, {0, 6}) == Places{0, 3, 1, 4, 2, 5});
  CHECK(places(spec, {1, 4}) == Places{3, 1, 4});  // from the middle of a row to that of another
  CHECK(places(spec, {3, 3}).empty());
}

TEST_CASE("groups of heads are the heads' groups in a file", "[model]") {
  // Queries and keys of three heads, one and two rows of each.
  ParameterSpec bias = parameter({6}, FileLayout::heads_outside);
  bias.groups = 2;
  CHECK(places(bias, {0, 6}) == Places{0, 2, 4, 1, 3, 5});
  ParameterSpec weight = parameter({12, 2}, FileLayout::heads_outside);
  weight.groups = 2;
  weight.unit = 2;
  CHECK(file_shape(weight) == Shape{12, 2});
  // Head 2 of the queries, whose rows are 8 and 9 there; then the first one of the keys: 2 and 3.
  CHECK(places(weight, {8, 16}) == Places{16, 17, 18, 19, 4, 5, 6, 7});
  CHECK(places(weight, {11, 13}) == Places{19, 4});
}

TEST_CASE("a part of a file's tensor begins at its row there", "[model]") {
  ParameterSpec keys = parameter({2, 3}, FileLayout::same);
  keys.file_part = {"qkv.weight", 4, 8};
  CHECK(file_name(keys) == "qkv.weight");
  CHECK(file_shape(keys) == Shape{8, 3});
  CHECK(places(keys, {1, 4}) == Places{13, 14, 15});
}

}  // namespace
}  // namespace pptrain
