#pragma once

namespace pptrain {

// An example of each file that people write, as a section of its page. The tests execute its
// commands.
extern const char* const config_example;
extern const char* const cluster_example;
extern const char* const profile_example;
extern const char* const plan_example;

}  // namespace pptrain
