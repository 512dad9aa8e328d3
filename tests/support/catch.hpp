#pragma once

// One header for Catch2 2 (Debian) and 3 (Spack).
#ifdef PPTRAIN_CATCH2_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
