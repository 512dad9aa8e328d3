#include "base/log_once.hpp"

#include "base/in_process.hpp"
#include "base/log.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("what is found again is said the first time, and by the first rank alone", "[base]") {
  const auto said_by = [](int rank) {
    return in_process([&] {
             set_log_rank(rank, 2);
             for (int i = 0; i < 3; ++i) {
               log_notice_once("a key has no effect");
               log_warning_once("a file is old");
             }
             log_notice_once("another one");
           })
        .said;
  };
  CHECK(said_by(0) ==
        "pptrain: a key has no effect\npptrain: warning: a file is old\npptrain: another one\n");
  CHECK(said_by(1).empty());
}

}  // namespace
}  // namespace pptrain
