#include "support/published_models.hpp"

namespace pptrain::test {
namespace {

std::vector<std::string> joined(std::vector<std::string> all,
                                const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::vector<std::string> all_published() {
  return joined(joined(published_texts(), published_encoders), published_convolutions);
}
std::vector<std::string> published_texts() { return joined(published_models, published_experts); }

}  // namespace pptrain::test
