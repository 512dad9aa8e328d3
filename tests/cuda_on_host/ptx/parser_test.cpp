#include "ptx/parser.hpp"

#include <string>

#include "child.hpp"
#include "ptx/assembly.hpp"

using namespace cuda_on_host::ptx;
using namespace pptrain::test;

TEST_CASE("PTX is read with its parameters, shared memory, guards and labels") {
  const auto kernels = parse(R"(
.extern .shared .align 16 .b8 behind[];
.visible .entry _Z5firstPfh(
	.param .u64 first_0,
	.param .u8 first_1,
	.param .align 8 .b8 first_2[24]
)
.maxntid 256, 1, 1
{
	.shared .align 4 .b8 before[20];
	ld.param.u64 %rd1, [first_2+8]; // a comment; with a semicolon
	mov.u32 %r1, behind;
$L__BB0_1:
	@!%p1 bra $L__BB0_1;
	{ .reg .b32 %temp;
	mov.b64 {%temp, %r2}, %rd1; }
	ret;
}
.entry second()
{
	ret;
}
)",
                             "two.ptx");
  REQUIRE(kernels.size() == 2);
  const Kernel& first = kernels[0];
  CHECK(first.name == "first(float*, unsigned char)");
  CHECK(first.file == "two.ptx");
  CHECK(first.most_threads == 256);
  REQUIRE(first.parameters.size() == 3);
  CHECK(first.parameters[1].at == 8);
  CHECK(first.parameters[1].bytes == 1);
  CHECK(first.parameters[2].at == 16);
  CHECK(first.parameter_bytes == 40);
  CHECK(first.shared_bytes == 32);
  REQUIRE(first.code.size() == 5);
  CHECK(first.code[0].offset == 8);
  CHECK(first.registers[static_cast<std::size_t>(first.code[0].operands[0])] == 16);
  CHECK(first.registers[static_cast<std::size_t>(first.code[1].operands[0])] == 32);
  CHECK(first.code[2].target == 2);
  CHECK_FALSE(first.code[2].runs_if_guard_is);
  CHECK(first.code[3].bytes == 4);
  CHECK(first.code[4].line == 17);
  CHECK(kernels[1].name == "second");
}

TEST_CASE("what PTX was made of is named, and not the toolkit's headers") {
  const auto kernels = parse(R"(
.entry one()
{
	.loc 1 12 3
	mov.u32 %r1, 1;
	.loc 2 700 1, function_name $L__info_string0, inlined_at 1 12 3
	mov.u32 %r2, 2;
	ret;
}
	.file 1 "/somewhere/src/cuda/norm.cu"
	.file 2 "/usr/local/cuda/include/sm_30_intrinsics.hpp"
)",
                             "norm.ptx");
  const Kernel& one = kernels.at(0);
  CHECK(one.sources[static_cast<std::size_t>(one.code[0].source)] == "norm.cu:12");
  CHECK(one.sources[static_cast<std::size_t>(one.code[1].source)] == "norm.cu:12");
}

TEST_CASE("what is not known of PTX is refused with its line") {
  const auto refused = [](const std::string& statement, const std::string& why) {
    const std::string said = complaint_of_child([&] { (void)kernel_of(statement); });
    CHECK(contains(
        said, why + " at line 17 of tested.ptx: " + statement.substr(0, statement.size() - 1)));
  };
  refused("atom.global.add.f32 %f1, [%rd1], %f2;", "no instruction atom.global.add.f32");
  refused("bar.sync 1;", "barriers but 0 are not known");
  refused("ld.const.f32 %f1, [%rd1];", "no such memory");
  refused("add.s32 %r1, %r1, elsewhere;", "unknown operand elsewhere");
  CHECK(
      contains(complaint_of_child([] { (void)kernel_of("bra $nowhere;"); }), "no label $nowhere"));
  CHECK(contains(complaint_of_child([] { (void)parse(".visible .func helper()", "f.ptx"); }),
                 "calls of functions are not known, line 1 of f.ptx"));
}
