#include "base/units.hpp"

#include <cmath>
#include <sstream>

#include "support/catch.hpp"

namespace pptrain {
namespace {

TEST_CASE("quantities are read with and without units", "[base]") {
  CHECK(parse_quantity("16 GiB", Quantity::bytes) == 16.0 * 1024 * 1024 * 1024);
  CHECK(parse_quantity("170 Gbit/s", Quantity::bandwidth) == 170 * 1.25e8);
  CHECK(parse_quantity("170 Gb/s", Quantity::bandwidth) == 170 * 1.25e8);
  CHECK(parse_quantity("1.6 Tbps", Quantity::bandwidth) == 1.6 * 1.25e11);
  CHECK(parse_quantity("170 GB/s", Quantity::bandwidth) == 170e9);
  CHECK(parse_quantity("5 us", Quantity::seconds) == 5 * 1e-6);
  CHECK(parse_quantity("125 TFLOP/s", Quantity::flop_rate) == 125e12);
  CHECK(parse_quantity(" 16GB ", Quantity::bytes) == 16e9);
  CHECK_FALSE(parse_quantity("12.5", Quantity::seconds));
  CHECK_FALSE(parse_quantity("16 gb", Quantity::bytes));
  CHECK_FALSE(parse_quantity("1e400 GB", Quantity::bytes));
  CHECK_FALSE(parse_quantity("1e308 GB", Quantity::bytes));
  CHECK_FALSE(parse_quantity("nan s", Quantity::seconds));
  CHECK_FALSE(parse_quantity("-inf s", Quantity::seconds));
  CHECK_FALSE(parse_quantity("5 GiB", Quantity::seconds));
  CHECK_FALSE(parse_quantity("fast", Quantity::bandwidth));
  CHECK_FALSE(parse_quantity("", Quantity::bytes));
}

TEST_CASE("numbers are printed for people", "[base]") {
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(1010.0 * 1024 * 1024) == "1010 MiB");
  CHECK(format_seconds(0.00125) == "1.25 ms");
  CHECK(format_count(124439808) == "124M");
  CHECK(format_duration(3723) == "1:02:03");
  CHECK(format_duration(59.6) == "1:00");
}

TEST_CASE("money, power and energy are printed for people", "[base]") {
  CHECK(format_money(98.324, "USD") == "98.3 USD");
  CHECK(format_money(0.0, "EUR") == "0 EUR");
  CHECK(format_money(0.00012, "EUR") == "1.20e-04 EUR");
  CHECK(format_money(123456.7, "USD") == "123457 USD");
  CHECK(format_money(1.25e6, "USD") == "1.25M USD");
  CHECK(format_money(std::nan(""), "USD") == "-");
  CHECK(format_power(5600.0) == "5.6 kW");
  CHECK(format_energy(0.5) == "500 Wh");
  CHECK(format_energy(15100.0) == "15.1 MWh");
  CHECK(parse_quantity("10.2 kW", Quantity::power) == 10200.0);
}

TEST_CASE("seconds take the unit that they fill after rounding", "[base]") {
  CHECK(format_seconds(0.0) == "0 s");
  CHECK(format_seconds(-0.0) == "0 s");
  CHECK(format_seconds(1e-15) == "0 s");  // what rounding leaves of a sum
  CHECK(format_seconds(-3.55e-15) == "0 s");
  CHECK(format_seconds(5.2e-10) == "0.52 ns");
  CHECK(format_seconds(9.999e-10) == "1 ns");
  CHECK(format_seconds(0.9996e-6) == "1 us");
  CHECK(format_seconds(0.99949) == "999 ms");
  CHECK(format_seconds(0.99995) == "1 s");
  CHECK(format_seconds(-0.99995) == "-1 s");
  CHECK(format_seconds(59.97) == "60 s");
  CHECK(format_seconds(999.4) == "999 s");
  CHECK(format_seconds(999.6) == "16.7 min");
  CHECK(format_seconds(3600.0) == "60 min");
  CHECK(format_seconds(12345.0) == "3.43 h");
  CHECK(format_seconds(86400.0) == "24 h");
  CHECK(format_seconds(3.0 * 86400) == "3 d");
  CHECK(format_seconds(1e8) == "1157 d");
  CHECK(format_seconds(1e15) == "1.16e+10 d");
  CHECK(format_seconds(std::nan("")) == "-");
  CHECK(format_seconds(INFINITY) == "infinite");
}

TEST_CASE("bytes, rates and shares take the unit that they fill after rounding", "[base]") {
  CHECK(format_bytes(0.0) == "0 B");
  CHECK(format_bytes(-0.0) == "0 B");
  CHECK(format_bytes(1023.4) == "1023 B");
  CHECK(format_bytes(1023.6) == "1 KiB");
  CHECK(format_bytes(1024.0 * 1024 - 1) == "1 MiB");
  CHECK(format_bytes(std::ldexp(1.0, 50)) == "1 PiB");
  CHECK(format_bandwidth(999.9e6) == "1 GB/s");
  CHECK(format_bandwidth(3e12) == "3 TB/s");
  CHECK(format_bandwidth(0.0) == "0 B/s");
  CHECK(format_count(0.0) == "0");
  CHECK(format_count(1e-9) == "0");
  CHECK(format_count(0.0123) == "0.0123");
  CHECK(format_count(999999.0) == "1M");
  CHECK(format_flop_rate(118.4e9) == "118 GFLOP/s");
  CHECK(format_flop_rate(0.99999e12) == "1 TFLOP/s");
  CHECK(format_percent(0.0) == "0 %");
  CHECK(format_percent(-1e-17) == "0 %");
  CHECK(format_percent(1e-5) == "< 0.1 %");
  CHECK(format_percent(0.0034) == "0.3 %");
  CHECK(format_percent(0.07) == "7 %");
  CHECK(format_percent(0.0996) == "10 %");
  CHECK(format_percent(-0.03) == "-3 %");
  CHECK(format_percent(0.5549) == "55 %");
  CHECK(format_percent(1.0) == "100 %");
  CHECK(format_percent(std::nan("")) == "-");
  CHECK(format_duration(INFINITY) == "-");
  CHECK(format_duration(-1.0) == "0:00");
}

TEST_CASE("every unit that messages name is read", "[base]") {
  int num_units = 0;
  for (const Quantity quantity : {Quantity::bytes, Quantity::bandwidth, Quantity::seconds,
                                  Quantity::flop_rate, Quantity::power}) {
    std::istringstream units{std::string(accepted_units(quantity))};
    for (std::string unit; std::getline(units >> std::ws, unit, ','); ++num_units) {
      CAPTURE(unit);
      CHECK(parse_quantity("2 " + unit, quantity).value_or(0.0) > 0.0);
    }
  }
  CHECK(num_units == 9 + 12 + 6 + 6 + 3);
  CHECK(parse_quantity("8 bit/s", Quantity::bandwidth) == 1.0);
  CHECK(parse_quantity("3 MiB/s", Quantity::bandwidth) == 3.0 * 1024 * 1024);
  CHECK(parse_quantity("1.5 min", Quantity::seconds) == 90.0);
  CHECK(parse_quantity("2 h", Quantity::seconds) == 7200.0);
  CHECK(parse_quantity("3 ns", Quantity::seconds) == 3 * 1e-9);
}

TEST_CASE("what is wrong with a quantity is said with what to write", "[base]") {
  const auto problem = [](std::string_view text, Quantity quantity) {
    const QuantityProblem found = problem_of_quantity(text, quantity);
    return found.reason + "; " + found.suggestion;
  };
  CHECK(problem("fast", Quantity::power) ==
        "it does not begin with a number; write a number and one of W, kW, MW");
  CHECK(problem("16 gb", Quantity::bytes) ==
        "\"gb\" is no unit of this key; did you mean \"16 GB\"?");
  CHECK(problem("16 GB", Quantity::power) ==
        "\"GB\" is no unit of this key; write a number and one of W, kW, MW");
  CHECK(problem("12.5", Quantity::seconds) ==
        "it has no unit; write for instance \"12.5 s\"; 12.5 without quotes is in s");
  CHECK(problem("1e400 W", Quantity::power) ==
        "its number is not finite, or too large; write a number and one of W, kW, MW");
  CHECK(problem("1e308 MW", Quantity::power) ==
        "it is too large; write a number and one of W, kW, MW");
}

}  // namespace
}  // namespace pptrain
