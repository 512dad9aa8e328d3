#include "arithmetic.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace cuda_on_host::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f16 = _Float16;

/// A predicate, and a number of bf16: types of their own, so that functions of them are told apart.
struct Predicate {
  bool is = false;
};
struct Brain {
  u16 bits = 0;
};

template <class T>
T read(Register from) {
  if constexpr (std::is_same_v<T, Predicate>) {
    return {(from & 1) != 0};
  } else {
    T value;
    std::memcpy(&value, &from, sizeof(T));
    return value;
  }
}

template <class T>
Register written(T value) {
  if constexpr (std::is_same_v<T, Predicate>) {
    return value.is ? 1 : 0;
  } else {
    Register to = 0;
    std::memcpy(&to, &value, sizeof(T));
    return to;
  }
}

/// Calls a function of numbers with the operands of an instruction.
template <class Function, class Result, class... Operands>
Arithmetic wrapped(Result (Function::*)(Operands...) const) {
  return [](Register* registers, const Instruction& instruction) {
    [&]<std::size_t... place>(std::index_sequence<place...>) {
      const Result result = Function{}(read<Operands>(registers[instruction.operands[place]])...);
      registers[instruction.results[0]] = written(result);
    }
    (std::index_sequence_for<Operands...>{});
  };
}

using Table = std::unordered_map<std::string, Arithmetic>;

class Filler {
 public:
  explicit Filler(Table& table) : table_(table) {}

  template <class Function>
  void operator()(const std::string& opcode, Function) const {
    table_[opcode] = wrapped(&Function::operator());
  }

 private:
  Table& table_;
};

template <class T>
constexpr auto bits_of = static_cast<u32>(8 * sizeof(T));

template <class T>
void add_comparisons(const Filler& add, const std::string& type) {
  add("setp.eq." + type, [](T a, T b) { return Predicate{a == b}; });
  add("setp.ne." + type, [](T a, T b) { return Predicate{a != b}; });
  add("setp.lt." + type, [](T a, T b) { return Predicate{a < b}; });
  add("setp.le." + type, [](T a, T b) { return Predicate{a <= b}; });
  add("setp.gt." + type, [](T a, T b) { return Predicate{a > b}; });
  add("setp.ge." + type, [](T a, T b) { return Predicate{a >= b}; });
}

template <class T>
void add_moves(const Filler& add, const std::string& type) {
  add("mov." + type, [](T a) { return a; });
  add("selp." + type, [](T a, T b, Predicate first) { return first.is ? a : b; });
}

/// Sums, products and shifts of T, which wrap around: the lowest bits of those of 64.
template <class T>
void add_integers(const Filler& add, const std::string& type) {
  add("add." + type, [](T a, T b) { return static_cast<T>(u64(a) + u64(b)); });
  add("sub." + type, [](T a, T b) { return static_cast<T>(u64(a) - u64(b)); });
  add("mul.lo." + type, [](T a, T b) { return static_cast<T>(u64(a) * u64(b)); });
  add("mad.lo." + type, [](T a, T b, T c) { return static_cast<T>(u64(a) * u64(b) + u64(c)); });
  add("min." + type, [](T a, T b) { return a < b ? a : b; });
  add("max." + type, [](T a, T b) { return a > b ? a : b; });
  // A division by zero has any result: all bits, as GPUs give it.
  add("div." + type, [](T a, T b) { return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b); });
  add("rem." + type, [](T a, T b) { return b == 0 ? a : static_cast<T>(a % b); });
  add("shr." + type, [](T a, u32 by) {
    if (by < bits_of<T>) return static_cast<T>(a >> by);
    return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
  });
  add_comparisons<T>(add, type);
  add_moves<T>(add, type);
}

template <class T>
void add_signed(const Filler& add, const std::string& type) {
  add_integers<T>(add, type);
  add("neg." + type, [](T a) { return static_cast<T>(0 - u64(a)); });
  add("abs." + type, [](T a) { return a < 0 ? static_cast<T>(0 - u64(a)) : a; });
}

/// Products of T with all their bits.
template <class T, class Wide>
void add_wide(const Filler& add, const std::string& type) {
  add("mul.wide." + type, [](T a, T b) { return Wide{a} * Wide{b}; });
  add("mul.hi." + type, [](T a, T b) { return static_cast<T>(Wide{a} * Wide{b} >> bits_of<T>); });
  add("mad.wide." + type,
      [](T a, T b, Wide c) { return static_cast<Wide>(u64(Wide{a} * Wide{b}) + u64(c)); });
}

template <class T>
void add_bits(const Filler& add, const std::string& type) {
  add("and." + type, [](T a, T b) { return static_cast<T>(a & b); });
  add("or." + type, [](T a, T b) { return static_cast<T>(a | b); });
  add("xor." + type, [](T a, T b) { return static_cast<T>(a ^ b); });
  add("not." + type, [](T a) { return static_cast<T>(~a); });
  add("shl." + type,
      [](T a, u32 by) { return static_cast<T>(by < bits_of<T> ? static_cast<u64>(a) << by : 0); });
  add("shr." + type,
      [](T a, u32 by) { return static_cast<T>(by < bits_of<T> ? static_cast<u64>(a) >> by : 0); });
  add("setp.eq." + type, [](T a, T b) { return Predicate{a == b}; });
  add("setp.ne." + type, [](T a, T b) { return Predicate{a != b}; });
  add_moves<T>(add, type);
}

void add_predicates(const Filler& add) {
  add("and.pred", [](Predicate a, Predicate b) { return Predicate{a.is && b.is}; });
  add("or.pred", [](Predicate a, Predicate b) { return Predicate{a.is || b.is}; });
  add("xor.pred", [](Predicate a, Predicate b) { return Predicate{a.is != b.is}; });
  add("not.pred", [](Predicate a) { return Predicate{!a.is}; });
  add("mov.pred", [](Predicate a) { return a; });
}

template <class T>
bool is_unordered(T a, T b) {
  return std::isnan(a) || std::isnan(b);
}

template <class T>
void add_floats(const Filler& add, const std::string& type) {
  for (const std::string rounding : {".", ".rn."}) {
    add("add" + rounding + type, [](T a, T b) { return a + b; });
    add("sub" + rounding + type, [](T a, T b) { return a - b; });
    add("mul" + rounding + type, [](T a, T b) { return a * b; });
  }
  add("div.rn." + type, [](T a, T b) { return a / b; });
  add("fma.rn." + type, [](T a, T b, T c) { return std::fma(a, b, c); });
  add("rcp.rn." + type, [](T a) { return T{1} / a; });
  add("sqrt.rn." + type, [](T a) { return std::sqrt(a); });
  add("neg." + type, [](T a) { return -a; });
  add("abs." + type, [](T a) { return std::fabs(a); });
  add("min." + type, [](T a, T b) { return std::fmin(a, b); });
  add("max." + type, [](T a, T b) { return std::fmax(a, b); });
  add_moves<T>(add, type);
  add_comparisons<T>(add, type);
  // Comparisons do not hold with a NaN, but for those whose names end in "u".
  add("setp.ne." + type, [](T a, T b) { return Predicate{!is_unordered(a, b) && a != b}; });
  add("setp.equ." + type, [](T a, T b) { return Predicate{is_unordered(a, b) || a == b}; });
  add("setp.neu." + type, [](T a, T b) { return Predicate{!(a == b)}; });
  add("setp.ltu." + type, [](T a, T b) { return Predicate{!(a >= b)}; });
  add("setp.leu." + type, [](T a, T b) { return Predicate{!(a > b)}; });
  add("setp.gtu." + type, [](T a, T b) { return Predicate{!(a <= b)}; });
  add("setp.geu." + type, [](T a, T b) { return Predicate{!(a < b)}; });
  add("setp.num." + type, [](T a, T b) { return Predicate{!is_unordered(a, b)}; });
  add("setp.nan." + type, [](T a, T b) { return Predicate{is_unordered(a, b)}; });
}

float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}

/// a * b + c, rounded down. The product is exact in double; what its sum with c loses there decides
/// where the sum is a float.
float fma_downwards(float a, float b, float c) {
  const double product = double{a} * b, sum = product + c;
  const double taken = sum - product, lost = (product - (sum - taken)) + (c - taken);
  const auto nearest = static_cast<float>(sum);
  const bool is_above = nearest > sum || (nearest == sum && lost < 0);
  return is_above ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}

void add_functions(const Filler& add) {
  add("ex2.approx.f32", [](float a) { return std::exp2(a); });
  add("ex2.approx.ftz.f32", [](float a) { return flushed(std::exp2(flushed(a))); });
  add("lg2.approx.f32", [](float a) { return std::log2(a); });
  add("lg2.approx.ftz.f32", [](float a) { return std::log2(flushed(a)); });
  add("rsqrt.approx.f32", [](float a) { return 1.0F / std::sqrt(a); });
  add("tanh.approx.f32", [](float a) { return std::tanh(a); });
  add("fma.rm.f32", [](float a, float b, float c) { return fma_downwards(a, b, c); });
  // The upper half of the reciprocal: what a division begins with.
  add("rcp.approx.ftz.f64", [](double a) {
    return std::bit_cast<double>(std::bit_cast<u64>(1.0 / a) & 0xffffffff00000000ULL);
  });
}

/// Single bits and bytes.
void add_pieces(const Filler& add) {
  add("clz.b32", [](u32 a) { return static_cast<u32>(std::countl_zero(a)); });
  add("popc.b32", [](u32 a) { return static_cast<u32>(std::popcount(a)); });
  add("brev.b32", [](u32 a) {
    u32 reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1U) << (31 - bit);
    return reversed;
  });
  add("prmt.b32", [](u32 a, u32 b, u32 selection) {
    const u64 both = u64{b} << 32 | a;
    u32 result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const u32 choice = selection >> (4 * byte) & 15U;
      const auto chosen = static_cast<u32>(both >> (8 * (choice & 7U)) & 0xffU);
      const u32 sign = (chosen & 0x80U) != 0 ? 0xffU : 0U;
      result |= ((choice & 8U) != 0 ? sign : chosen) << (8 * byte);
    }
    return result;
  });
  add("shf.l.wrap.b32", [](u32 a, u32 b, u32 by) {
    return static_cast<u32>((u64{b} << 32 | a) << (by & 31U) >> 32);
  });
  add("shf.r.wrap.b32",
      [](u32 a, u32 b, u32 by) { return static_cast<u32>((u64{b} << 32 | a) >> (by & 31U)); });
}

template <class From>
void add_integer_conversions(const Filler& add, const std::string& from) {
  add("cvt.u8." + from, [](From a) { return static_cast<u8>(a); });
  // A result of 8 bits fills its register, which has 16 at least.
  add("cvt.s8." + from, [](From a) { return s64{static_cast<s8>(a)}; });
  add("cvt.u16." + from, [](From a) { return static_cast<u16>(a); });
  add("cvt.s16." + from, [](From a) { return static_cast<s16>(a); });
  add("cvt.u32." + from, [](From a) { return static_cast<u32>(a); });
  add("cvt.s32." + from, [](From a) { return static_cast<s32>(a); });
  add("cvt.u64." + from, [](From a) { return static_cast<u64>(a); });
  add("cvt.s64." + from, [](From a) { return static_cast<s64>(a); });
  add("cvt.rn.f32." + from, [](From a) { return static_cast<float>(a); });
  add("cvt.rn.f64." + from, [](From a) { return static_cast<double>(a); });
}

/// Rounded towards zero, and the nearest of To's numbers where there is none.
template <class To, class From>
To truncated(From value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class From>
void add_roundings(const Filler& add, const std::string& from) {
  add("cvt.rzi.u16." + from, [](From a) { return truncated<u16>(a); });
  add("cvt.rzi.s32." + from, [](From a) { return truncated<s32>(a); });
  add("cvt.rzi.u32." + from, [](From a) { return truncated<u32>(a); });
  add("cvt.rzi.s64." + from, [](From a) { return truncated<s64>(a); });
  add("cvt.rzi.u64." + from, [](From a) { return truncated<u64>(a); });
  add("cvt.rmi." + from + "." + from, [](From a) { return std::floor(a); });
  add("cvt.rpi." + from + "." + from, [](From a) { return std::ceil(a); });
  add("cvt.rzi." + from + "." + from, [](From a) { return std::trunc(a); });
  add("cvt.rni." + from + "." + from, [](From a) { return std::nearbyint(a); });
}

/// To the nearest number of 8 bits of fraction, of two the even one.
Brain to_brain(float value) {
  const auto bits = std::bit_cast<u32>(value);
  if (std::isnan(value)) return {0x7fff};
  return {static_cast<u16>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}

void add_float_conversions(const Filler& add) {
  add("cvt.rn.f32.f64", [](double a) { return static_cast<float>(a); });
  add("cvt.f64.f32", [](float a) { return double{a}; });
  add("cvt.f32.f16", [](f16 a) { return static_cast<float>(a); });
  add("cvt.rn.f16.f32", [](float a) { return static_cast<f16>(a); });
  add("cvt.rn.bf16.f32", [](float a) { return to_brain(a); });
  // A NaN becomes 0.
  add("cvt.sat.f32.f32", [](float a) { return a > 0 ? std::fmin(a, 1.0F) : 0.0F; });
}

Table make_table() {
  Table table;
  const Filler add(table);
  add_signed<s16>(add, "s16");
  add_signed<s32>(add, "s32");
  add_signed<s64>(add, "s64");
  add_integers<u16>(add, "u16");
  add_integers<u32>(add, "u32");
  add_integers<u64>(add, "u64");
  add_wide<s16, s32>(add, "s16");
  add_wide<u16, u32>(add, "u16");
  add_wide<s32, s64>(add, "s32");
  add_wide<u32, u64>(add, "u32");
  add("mul.hi.u64",
      [](u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b >> 64); });
  add_bits<u16>(add, "b16");
  add_bits<u32>(add, "b32");
  add_bits<u64>(add, "b64");
  add_predicates(add);
  add_floats<float>(add, "f32");
  add_floats<double>(add, "f64");
  add_functions(add);
  add_pieces(add);
  add_integer_conversions<u8>(add, "u8");
  add_integer_conversions<s8>(add, "s8");
  add_integer_conversions<u16>(add, "u16");
  add_integer_conversions<s16>(add, "s16");
  add_integer_conversions<u32>(add, "u32");
  add_integer_conversions<s32>(add, "s32");
  add_integer_conversions<u64>(add, "u64");
  add_integer_conversions<s64>(add, "s64");
  add_roundings<float>(add, "f32");
  add_roundings<double>(add, "f64");
  add_float_conversions(add);
  // An address of global memory is the host's, and the same in every space.
  add("cvta.to.global.u64", [](u64 a) { return a; });
  return table;
}

Register low_bytes(unsigned bytes) {
  return bytes >= sizeof(Register) ? ~Register{0} : (Register{1} << (8 * bytes)) - 1;
}

}  // namespace

Arithmetic find_arithmetic(const std::string& opcode) {
  static const Table table = make_table();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

void pack(Register* registers, const Instruction& instruction) {
  Register packed = 0;
  for (unsigned part = 0; part < instruction.elements; ++part) {
    const Register bits = registers[instruction.operands[part]] & low_bytes(instruction.bytes);
    packed |= bits << (8 * instruction.bytes * part);
  }
  registers[instruction.results[0]] = packed;
}

void unpack(Register* registers, const Instruction& instruction) {
  const Register packed = registers[instruction.operands[0]];
  for (unsigned part = 0; part < instruction.elements; ++part) {
    if (instruction.results[part] == no_register) continue;
    registers[instruction.results[part]] =
        packed >> (8 * instruction.bytes * part) & low_bytes(instruction.bytes);
  }
}

}  // namespace cuda_on_host::ptx
