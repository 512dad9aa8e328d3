#include "kernels/denormals.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace pptrain {

void flush_denormals() {
#if defined(__SSE__)
  constexpr unsigned flush_to_zero = 0x8000;       // results
  constexpr unsigned denormals_are_zero = 0x0040;  // operands
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
  constexpr unsigned long flush_to_zero = 1UL << 24;  // FPCR.FZ: results and operands
  unsigned long control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
#endif
}

}  // namespace pptrain
