#pragma once

namespace pptrain::test {

/// Runs the test cases that the command line of Catch2 selects. Returns the number of failed ones,
/// at most 255.
int run_tests(int argc, char** argv);

}  // namespace pptrain::test
