#pragma once

#include <string>

#include "kernel.hpp"

namespace cuda_on_host::ptx {

/// The arithmetic of an opcode with its types ("add.s32", "cvt.rn.bf16.f32"); nullptr: unknown.
/// Approximations of a GPU (`ex2.approx`) are computed to the last bit of their type.
Arithmetic find_arithmetic(const std::string& opcode);

/// results[0] = operands[0], operands[1], ... side by side, each of `bytes` bytes, lowest first.
void pack(Register* registers, const Instruction& instruction);
/// results[0], results[1], ... = the parts of operands[0], each of `bytes` bytes, lowest first.
void unpack(Register* registers, const Instruction& instruction);

}  // namespace cuda_on_host::ptx
