#pragma once

namespace pptrain {

/// From now on the calling thread, and every thread that it starts, computes with zero in place of
/// denormal numbers: results that would be denormal become zero, and operands that are count as
/// zero. Each operation on a denormal number costs many processors more than a hundred cycles, and
/// moments of parameters whose gradients vanish go through them. Changes nothing on processors
/// other than x86-64 and AArch64.
void flush_denormals();

}  // namespace pptrain
