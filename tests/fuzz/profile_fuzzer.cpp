#include "fuzz.hpp"
#include "profile/profile.hpp"

using namespace pptrain;

namespace {

/// Every row is found again, and what lies between and beside rows is not negative.
void check_rows(const Profile& profile) {
  for (int l = 0; l < profile.num_layers(); ++l) {
    for (const ProfileRow& row : profile.layers[l].rows) {
      for (const double samples : {0.5 * row.samples, row.samples, 1.5 * row.samples}) {
        const auto seconds = profile.seconds(l, row.device, row.tensor_parallel, samples);
        PPTRAIN_ASSERT(seconds && seconds->total() >= 0.0, "layer {} for {} samples", l, samples);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parse = [](const std::string& text) {
    Profile profile = parse_profile(text, "fuzzed");
    check_rows(profile);
    return profile;
  };
  check_round_trip(text_of(data, size), parse, write_profile);
  return 0;
}
