#include "text/growth.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {

void GrowthLimit::refuse() const {
  throw_bad_input(
      {where_, fmt::format("makes more than {} bytes of {}", least + most_times * before_, before_),
       fmt::format("a text may become {} times as long and {} bytes longer", most_times, least),
       "leave the steps out that make texts longer, or use another tokenizer"});
}

}  // namespace pptrain
