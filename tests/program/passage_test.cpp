#include "program/passage.hpp"

#include <fmt/format.h>

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// An interval that all of these devices have, or need.
EqualCopies copies(Interval interval, const std::vector<int>& devices) {
  EqualCopies made = {interval, {}};
  for (const int device : devices) made.devices.emplace_back(device);
  return made;
}

/// "0>2 [0, 4)": from device 0 to device 2.
std::vector<std::string> texts(const Passage& passage) {
  std::vector<std::string> all;
  for (const Message& message : passage.messages) {
    all.push_back(fmt::format("{}>{} [{}, {})", message.from.value, message.to.value,
                              message.interval.begin, message.interval.end));
  }
  return all;
}

TEST_CASE("members of a replica hold equal copies of its samples", "[program]") {
  const Plan plan = uniform_plan({{0, 1}}, 2, 2, 4, 4, "1f1b");
  const std::vector<EqualCopies> held = sample_copies(plan.stages[0]);
  REQUIRE(held.size() == 2);
  CHECK(held[1].interval == Interval{2, 4});
  CHECK(held[1].devices == std::vector<DeviceId>{DeviceId(2), DeviceId(3)});
}

TEST_CASE("whole copies go to each who needs them, from senders in turn or from itself",
          "[program]") {
  const auto whole = [](const std::vector<EqualCopies>& from, const std::vector<EqualCopies>& to) {
    const Passage made = passage(from, to, TransferForm::whole);
    CHECK(made.units == 1);
    return texts(made);
  };
  CHECK(whole({copies({0, 2}, {0}), copies({2, 4}, {1})},
              {copies({0, 3}, {2}), copies({3, 4}, {3})}) ==
        std::vector<std::string>{"0>2 [0, 2)", "1>2 [2, 3)", "1>3 [3, 4)"});
  CHECK(whole({copies({0, 4}, {0, 1})}, {copies({0, 4}, {2, 3, 4})}) ==
        std::vector<std::string>{"0>2 [0, 4)", "1>3 [0, 4)", "0>4 [0, 4)"});
  CHECK(whole({copies({0, 4}, {0, 1})}, {copies({0, 4}, {1, 5})}) ==
        std::vector<std::string>{"1>1 [0, 4)", "1>5 [0, 4)"});
}

TEST_CASE("slices cross once, equally many from each who has them and to each who needs them",
          "[program]") {
  const Passage made =
      passage({copies({0, 1}, {0, 1})}, {copies({0, 1}, {2, 3, 4})}, TransferForm::slices);
  CHECK(made.form == TransferForm::slices);
  CHECK(made.units == 6);  // of the one sample: three from each of two, two to each of three
  CHECK(texts(made) ==
        std::vector<std::string>{"0>2 [0, 2)", "0>3 [2, 3)", "1>3 [3, 4)", "1>4 [4, 6)"});
  const Passage alone = passage({copies({0, 2}, {0})}, {copies({0, 2}, {1})}, TransferForm::slices);
  CHECK(alone.units == 1);
  CHECK(texts(alone) == std::vector<std::string>{"0>1 [0, 2)"});
}

TEST_CASE("forms that a plan does not say are whole", "[program]") {
  TransferForms forms;
  CHECK(forms.at(3) == CutForms{});
  CHECK(forms.of_tie(0) == TransferForm::whole);
  forms.cuts = {{}, {TransferForm::slices, TransferForm::whole}};
  forms.ties = {TransferForm::slices};
  CHECK(forms.at(1).activation == TransferForm::slices);
  CHECK(forms.of_tie(0) == TransferForm::slices);
  CHECK(forms.of_tie(1) == TransferForm::whole);
}

}  // namespace
}  // namespace pptrain
