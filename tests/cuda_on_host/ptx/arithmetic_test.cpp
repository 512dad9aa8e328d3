#include "ptx/arithmetic.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace cuda_on_host::ptx;

namespace {

Register compute(const std::string& opcode, const std::vector<Register>& operands) {
  const Arithmetic arithmetic = find_arithmetic(opcode);
  INFO(opcode);
  REQUIRE(arithmetic != nullptr);
  std::vector<Register> registers = operands;
  registers.push_back(0);
  Instruction instruction;
  for (std::size_t i = 0; i < operands.size(); ++i) instruction.operands[i] = static_cast<int>(i);
  instruction.results[0] = static_cast<int>(operands.size());
  arithmetic(registers.data(), instruction);
  return registers.back();
}

Register bits(float value) { return std::bit_cast<std::uint32_t>(value); }
Register bits(double value) { return std::bit_cast<std::uint64_t>(value); }

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("integers of PTX wrap around, and keep their upper bits where they are wide") {
  CHECK(compute("add.s32", {0x7fffffff, 1}) == 0x80000000);
  CHECK(compute("add.u16", {0xffff, 2}) == 1);
  CHECK(compute("sub.s64", {0, 1}) == ~Register{0});
  CHECK(compute("mul.lo.s32", {0x10000, 0x10001}) == 0x10000);
  CHECK(compute("mad.lo.s32", {3, 0xffffffff, 5}) == 2);
  CHECK(compute("mul.wide.u32", {0xffffffff, 2}) == 0x1fffffffe);
  CHECK(compute("mul.wide.s32", {0xffffffff, 2}) == ~Register{0} - 1);
  CHECK(compute("mul.wide.u16", {0xffff, 0xffff}) == 0xfffe0001);
  CHECK(compute("mad.wide.s32", {0xffffffff, 2, 10}) == 8);
  CHECK(compute("mul.hi.u32", {0x80000000, 6}) == 3);
  CHECK(compute("mul.hi.u64", {Register{1} << 63, 6}) == 3);
  CHECK(compute("div.s32", {0xfffffff9, 2}) == 0xfffffffd);
  CHECK(compute("div.u32", {7, 0}) == 0xffffffff);
  CHECK(compute("rem.s32", {0xfffffff9, 2}) == 0xffffffff);
  CHECK(compute("min.s32", {0xffffffff, 1}) == 0xffffffff);
  CHECK(compute("min.u32", {0xffffffff, 1}) == 1);
  CHECK(compute("neg.s32", {0x80000000}) == 0x80000000);
  CHECK(compute("abs.s64", {~Register{0}}) == 1);
}

TEST_CASE("shifts of PTX by all bits of a number leave nothing but its sign") {
  CHECK(compute("shl.b32", {1, 31}) == 0x80000000);
  CHECK(compute("shl.b32", {1, 32}) == 0);
  CHECK(compute("shr.u32", {0x80000000, 31}) == 1);
  CHECK(compute("shr.u64", {~Register{0}, 64}) == 0);
  CHECK(compute("shr.s32", {0x80000000, 40}) == 0xffffffff);
  CHECK(compute("shr.s32", {0x40000000, 40}) == 0);
  CHECK(compute("shr.b16", {0x8000, 15}) == 1);
  CHECK(compute("shf.l.wrap.b32", {0x80000000, 1, 33}) == 3);
  CHECK(compute("shf.r.wrap.b32", {0x80000000, 1, 31}) == 3);
}

TEST_CASE("bits and bytes of PTX") {
  CHECK(compute("prmt.b32", {0x33221100, 0x77665544, 0x7410}) == 0x77441100);
  CHECK(compute("prmt.b32", {0x00008000, 0, 0x9999}) == 0xffffffff);
  CHECK(compute("clz.b32", {1}) == 31);
  CHECK(compute("popc.b32", {0xf0f0}) == 8);
  CHECK(compute("brev.b32", {1}) == 0x80000000);
  CHECK(compute("not.b16", {0}) == 0xffff);
  CHECK(compute("not.pred", {1}) == 0);
  CHECK(compute("xor.pred", {1, 1}) == 0);
  CHECK(compute("selp.b32", {5, 6, 1}) == 5);
  CHECK(compute("selp.f32", {5, 6, 0}) == 6);
}

TEST_CASE("comparisons of PTX with a NaN hold where they are unordered") {
  const Register nan = bits(not_a_number), one = bits(1.0F);
  for (const std::string ordered : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    CHECK(compute("setp." + ordered + ".f32", {nan, one}) == 0);
  for (const std::string unordered : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    CHECK(compute("setp." + unordered + ".f32", {nan, one}) == 1);
  CHECK(compute("setp.neu.f32", {one, one}) == 0);
  CHECK(compute("setp.ltu.f64", {bits(1.0), bits(2.0)}) == 1);
  CHECK(compute("setp.lt.s32", {0xffffffff, 0}) == 1);
  CHECK(compute("setp.lt.u32", {0xffffffff, 0}) == 0);
  CHECK(compute("max.f32", {nan, one}) == one);
}

TEST_CASE("floating-point numbers of PTX are rounded once") {
  const float third = 1.0F / 3;
  CHECK(compute("fma.rn.f32", {bits(third), bits(3.0F), bits(-1.0F)}) ==
        bits(std::fma(third, 3.0F, -1.0F)));
  CHECK(compute("div.rn.f32", {bits(1.0F), bits(3.0F)}) == bits(third));
  CHECK(compute("neg.f32", {bits(0.0F)}) == bits(-0.0F));
  CHECK(compute("ex2.approx.ftz.f32", {bits(-140.0F)}) == bits(0.0F));
  CHECK(compute("rcp.approx.ftz.f64", {bits(3.0)}) == (bits(1.0 / 3) & 0xffffffff00000000));
}

TEST_CASE("sums of PTX that are rounded down stay below, also where double rounds them up") {
  const float one = 1, tiny = 0x1p-80F;
  CHECK(compute("fma.rm.f32", {bits(one), bits(one), bits(tiny)}) == bits(one));
  CHECK(compute("fma.rm.f32", {bits(one), bits(one), bits(-tiny)}) ==
        bits(std::nextafter(one, 0.0F)));
  CHECK(compute("fma.rm.f32", {bits(0.1F), bits(1.0F), bits(0.0F)}) == bits(0.1F));
  CHECK(compute("fma.rm.f32", {bits(one), bits(one), bits(infinite)}) == bits(infinite));
}

TEST_CASE("conversions of PTX round to the nearest, saturate and extend signs") {
  CHECK(compute("cvt.rn.bf16.f32", {bits(1.0F + 0x1p-8F)}) == 0x3f80);
  CHECK(compute("cvt.rn.bf16.f32", {bits(1.0F + 0x3p-8F)}) == 0x3f82);
  CHECK(compute("cvt.rn.bf16.f32", {bits(not_a_number)}) == 0x7fff);
  CHECK(compute("cvt.rn.f16.f32", {bits(65520.0F)}) == 0x7c00);
  CHECK(compute("cvt.f32.f16", {0x3555}) == bits(0.333251953125F));
  CHECK(compute("cvt.rzi.s32.f32", {bits(-3.9F)}) == 0xfffffffd);
  CHECK(compute("cvt.rzi.s32.f32", {bits(4e9F)}) == 0x7fffffff);
  CHECK(compute("cvt.rzi.u64.f32", {bits(-1.0F)}) == 0);
  CHECK(compute("cvt.rzi.u32.f32", {bits(not_a_number)}) == 0);
  CHECK(compute("cvt.rni.f32.f32", {bits(2.5F)}) == bits(2.0F));
  CHECK(compute("cvt.rmi.f32.f32", {bits(-0.5F)}) == bits(-1.0F));
  CHECK(compute("cvt.sat.f32.f32", {bits(1.5F)}) == bits(1.0F));
  CHECK(compute("cvt.sat.f32.f32", {bits(not_a_number)}) == bits(0.0F));
  CHECK(compute("cvt.s64.s32", {0xffffffff}) == ~Register{0});
  CHECK(compute("cvt.u64.u32", {0xffffffff}) == 0xffffffff);
  CHECK(compute("cvt.s32.s8", {0x80}) == 0xffffff80);
  CHECK(compute("cvt.rn.f32.u64", {~Register{0}}) == bits(0x1p64F));
}

TEST_CASE("what is no instruction of PTX has no arithmetic") {
  CHECK(find_arithmetic("add") == nullptr);
  CHECK(find_arithmetic("mul.lo.f32") == nullptr);
}

TEST_CASE("registers of PTX are packed lowest first") {
  std::vector<Register> registers = {0xffff1111, 0x2222, 0};
  Instruction one;
  one.bytes = 2;
  one.elements = 2;
  one.operands = {0, 1, -1, -1};
  one.results[0] = 2;
  pack(registers.data(), one);
  CHECK(registers[2] == 0x22221111);
  one.operands[0] = 2;
  one.results = {-1, 0, -1, -1};
  unpack(registers.data(), one);
  CHECK(registers[0] == 0x2222);
}
