#ifndef PPTRAIN_CATCH2_V3
#define CATCH_CONFIG_RUNNER
#endif
#include "support/run_tests.hpp"

#include "support/catch.hpp"

int pptrain::test::run_tests(int argc, char** argv) { return Catch::Session().run(argc, argv); }
