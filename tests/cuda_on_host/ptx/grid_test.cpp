// Each check of kernels in PTX finds a fault that was planted for it.
#include "ptx/grid.hpp"

#include <string>

#include "child.hpp"
#include "kernels/denormals.hpp"
#include "ptx/assembly.hpp"

using namespace cuda_on_host::ptx;
using namespace pptrain::test;

namespace {

/// The first finding of a run, with which tests end.
std::string found(const std::string& statements, unsigned threads = 64, unsigned blocks = 1) {
  DeviceNumbers numbers;
  const Outcome outcome = numbers.run(kernel_of(statements), threads, blocks);
  REQUIRE_FALSE(outcome.findings.empty());
  return outcome.findings[0];
}

bool is_clean(const std::string& statements, unsigned threads = 64, unsigned blocks = 1) {
  DeviceNumbers numbers;
  const Outcome outcome = numbers.run(kernel_of(statements), threads, blocks);
  if (!outcome.findings.empty()) UNSCOPED_INFO(outcome.findings[0]);
  return outcome.findings.empty();
}

constexpr const char* block_barrier = "bar.sync 0;\n";
constexpr const char* warp_barrier = "bar.warp.sync -1;\n";

/// Each thread writes its number into shared memory, which has been written before; `between`; then
/// it reads what its neighbour wrote whose number differs by `by` in its bits.
std::string neighbours(unsigned by, const std::string& between) {
  const std::string write = "st.shared.u32 [%r4], %r1;\n";
  return write + block_barrier + write + between + "xor.b32 %r5, %r2, " + std::to_string(4 * by) +
         ";\nadd.s32 %r6, %r3, %r5;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], %r7;\n";
}

}  // namespace

TEST_CASE("PTX computes what it says, thread by thread") {
  DeviceNumbers numbers;
  const Kernel kernel = kernel_of(R"(
	setp.lt.u32 %p1, %r1, 10;
	mov.u32 %r8, 0;
$again:
	add.s32 %r8, %r8, 3;
	setp.lt.u32 %p2, %r8, %r1;
	@%p2 bra $again;
	@!%p1 st.global.u32 [%rd3], %r8;
)");
  const Outcome outcome = numbers.run(kernel, 64);
  CHECK(outcome.findings.empty());
  CHECK(numbers[9] == 0);
  CHECK(numbers[10] == 12);
  CHECK(numbers[63] == 63);
}

TEST_CASE("lanes of PTX exchange values in four ways, and are told whether there was one") {
  const auto after = [](const std::string& mode, const std::string& by, const std::string& limit) {
    DeviceNumbers numbers;
    const Outcome outcome =
        numbers.run(kernel_of("shfl.sync." + mode + ".b32 %r8|%p1, %r1, " + by + ", " + limit +
                              ", -1;\nselp.u32 %r9, 1000, 0, %p1;\nadd.s32 %r8, %r8, %r9;\n"
                              "st.global.u32 [%rd3], %r8;\n"),
                    32);
    CHECK(outcome.findings.empty());
    return std::vector<unsigned>{numbers[0], numbers[5], numbers[31]};
  };
  CHECK(after("bfly", "1", "31") == std::vector<unsigned>{1001, 1004, 1030});
  CHECK(after("down", "4", "31") == std::vector<unsigned>{1004, 1009, 31});
  CHECK(after("up", "4", "0") == std::vector<unsigned>{0, 1001, 1027});
  CHECK(after("idx", "7", "31") == std::vector<unsigned>{1007, 1007, 1007});
  // Segments of 8 lanes.
  CHECK(after("idx", "7", "6175") == std::vector<unsigned>{1007, 1007, 1031});
}

TEST_CASE("PTX keeps denormal numbers where the host's kernels do not") {
  pptrain::flush_denormals();
  DeviceNumbers numbers;
  const Outcome outcome = numbers.run(
      kernel_of("mul.f32 %f1, 0f00800000, 0f3F000000;\nst.global.f32 [%rd1], %f1;\n"), 1);
  CHECK(outcome.findings.empty());
  CHECK(numbers[0] == 0x00400000);
}

TEST_CASE("memory of PTX that is not there is found") {
  CHECK(contains(found("st.global.u32 [%rd1+4096], %r1;", 1), "global memory out of bounds"));
  CHECK(contains(found("ld.global.u32 %r9, [%rd1+-4];", 1), "global memory out of bounds"));
  CHECK(contains(found("st.shared.u32 [%r3+2048], %r1;", 1), "memory out of bounds"));
  CHECK(contains(found("ld.global.v2.f32 {%f1, %f2}, [%rd1+4];", 1), "between its boundaries"));
  CHECK(contains(found("ld.shared.u32 %r9, [%r3];", 1), "shared memory that nobody wrote"));
  CHECK(is_clean("ld.global.v2.f32 {%f1, %f2}, [%rd1+4088];", 1));
}

TEST_CASE("a block's shared memory is not what an earlier one left there") {
  const std::string first_writes = R"(
	mov.u32 %r9, %ctaid.x;
	setp.eq.u32 %p1, %r9, 0;
	@%p1 st.shared.u32 [%r4], %r1;
	ld.shared.u32 %r8, [%r4];
)";
  CHECK(is_clean(first_writes, 32, 1));
  CHECK(contains(found(first_writes, 32, 2), "shared memory that nobody wrote"));
}

TEST_CASE("barriers of PTX that not all reach are found") {
  const std::string first_alone = "setp.eq.u32 %p1, %r1, 0;\n";
  CHECK(contains(found(first_alone + "@%p1 bar.sync 0;"), "not all threads of the block reach"));
  CHECK(contains(found(first_alone + "@%p1 bar.sync 0;\n@!%p1 bar.sync 0;"),
                 "threads reach at different places"));
  CHECK(contains(found(first_alone + "@%p1 bar.warp.sync -1;", 32), "a lane that has ended"));
  CHECK(contains(found(first_alone + "@%p1 bar.warp.sync -1;\nbar.sync 0;", 32),
                 "a lane that waits for the block"));
  CHECK(contains(found(first_alone + "@%p1 bar.warp.sync -1;\n@!%p1 bar.warp.sync -1;", 32),
                 "meet at different instructions"));
  CHECK(contains(found(first_alone + "selp.b32 %r8, 3, 7, %p1;\nbar.warp.sync %r8;", 3),
                 "name different masks"));
  CHECK(contains(found("bar.warp.sync 1;", 2), "not in the mask that it names"));
  CHECK(contains(found("bar.warp.sync 7;", 2), "lanes that the block does not have"));
  CHECK(contains(found(first_alone + "@%p1 shfl.sync.bfly.b32 %r8|%p2, %r1, 1, 31, 1;", 2),
                 "the value of one outside the mask"));
}

TEST_CASE("shared memory of PTX without a barrier in between is found, whoever comes first") {
  CHECK(contains(found(neighbours(32, "")), "shared memory without a barrier"));
  CHECK(contains(found(neighbours(32, warp_barrier)), "shared memory without a barrier"));
  CHECK(is_clean(neighbours(32, block_barrier)));
  CHECK(contains(found(neighbours(1, ""), 32), "shared memory without a barrier"));
  CHECK(contains(found(neighbours(1, "shfl.sync.bfly.b32 %r8|%p1, %r1, 1, 31, -1;\n"), 32),
                 "shared memory without a barrier"));
  CHECK(is_clean(neighbours(1, warp_barrier), 32));
}

TEST_CASE("a warp's barrier of some lanes orders these alone") {
  const std::string halves = "setp.lt.u32 %p1, %r1, 16;\nselp.b32 %r8, 65535, -65536, %p1;\n";
  CHECK(is_clean(halves + neighbours(1, "bar.warp.sync %r8;\n"), 32));
  CHECK(contains(found(halves + neighbours(16, "bar.warp.sync %r8;\n"), 32),
                 "shared memory without a barrier"));
}

TEST_CASE("shared memory of PTX that is written while others still read it is found") {
  const auto write_last = [](unsigned thread) {
    return "setp.eq.u32 %p7, %r1, " + std::to_string(thread) +
           ";\n@%p7 st.shared.u32 [%r4], %r7;\n";
  };
  const std::string warps = neighbours(32, block_barrier), lanes = neighbours(1, warp_barrier);
  CHECK(contains(found(warps + write_last(63)), "writes what another warp reads"));
  CHECK(is_clean(warps + block_barrier + write_last(63)));
  CHECK(contains(found(lanes + write_last(31), 32), "writes what another lane reads"));
  CHECK(is_clean(lanes + warp_barrier + write_last(31), 32));
}

TEST_CASE("global memory of PTX that threads or blocks share without a barrier is found") {
  CHECK(contains(found("st.global.u32 [%rd1], %r1;", 2), "writes what another thread writes"));
  CHECK(contains(found("st.global.u32 [%rd3], %r1;", 32, 2), "writes what another block writes"));
  CHECK(contains(found("ld.global.u32 %r8, [%rd1];\nst.global.u32 [%rd3], %r8;", 64),
                 "reads what another thread writes"));
  CHECK(contains(found("ld.global.u32 %r8, [%rd1+128];\nst.global.u32 [%rd3], %r8;", 64),
                 "writes what another warp reads"));
  CHECK(contains(found(R"(
	mov.u32 %r9, %ctaid.x;
	setp.eq.u32 %p1, %r9, 0;
	@%p1 st.global.u32 [%rd3], %r1;
	@!%p1 ld.global.u32 %r8, [%rd3];
)",
                       32, 2),
                 "reads what another block writes"));
  CHECK(is_clean("ld.global.u32 %r8, [%rd1];\nbar.sync 0;\nst.global.u32 [%rd3], %r8;", 64));
  // Two bytes of one word are two places.
  CHECK(is_clean("cvt.u64.u32 %rd4, %r1;\nadd.s64 %rd5, %rd1, %rd4;\nst.global.u8 [%rd5], %r1;"));
}

TEST_CASE("launches that PTX does not take are found") {
  CHECK(contains(found("", 129), "more threads than __launch_bounds__ says"));
  CHECK(contains(run(kernel_of(""), {dim3(1), dim3(1), 0, {"abcd"}}).findings.at(0),
                 "another size of argument 0"));
  CHECK(contains(run(kernel_of(""), {dim3(1), dim3(1), 0, {}}).findings.at(0),
                 "another number of arguments"));
}

TEST_CASE("a finding says where, once however many threads meet it") {
  CHECK(found("st.global.u32 [%rd1], %r1;", 3) ==
        "global memory without a barrier: writes what another thread writes, line 17 of tested.ptx "
        "(st.global.u32 [%rd1], %r1), in tested");
}

TEST_CASE("what launches do is counted") {
  DeviceNumbers numbers;
  const Outcome outcome =
      numbers.run(kernel_of(neighbours(1, block_barrier) + "ld.global.u32 %r8, [%rd3];\n"), 64, 1);
  CHECK(outcome.counts.launches == 1);
  CHECK(outcome.counts.barriers == 2);
  CHECK(outcome.counts.shared_accesses == 3 * 64);
  CHECK(outcome.counts.stored_bytes == 4 * 64);
  CHECK(outcome.counts.loaded_bytes == 4 * 64);
  CHECK(outcome.counts.instructions == (7 + 9 + 1) * 64);
}
