#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pptrain {

/// How a safetensors file stores the elements of a tensor.
enum class WeightType {
  f32,
  bf16,
  f16,
  f64,
  i64,
  u64,
  i32,
  u32,
  i16,
  u16,
  i8,
  u8,
  boolean,
  c64,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  f6_e2m3,
  f6_e3m2,
  f4,
};

/// The name in the header of a file, as "BF16".
std::string_view name_of(WeightType type);
/// The type of that name; nothing where safetensors has none.
std::optional<WeightType> weight_type(std::string_view name);
/// Bits of one element; elements of fewer than 8 are packed.
int bits_of(WeightType type);
/// Whether elements can be read as fp32 and written from it: F32, BF16 and F16. All other types are
/// only listed.
bool is_convertible(WeightType type);

/// Whether a number of this type is a whole one that counts something, as `num_batches_tracked` of
/// batch norms: I64.
bool is_count(WeightType type);

/// Reads `out.size()` elements of a convertible type that begin at `stored`, which may be
/// unaligned. Exact.
void widen(WeightType type, const std::byte* stored, std::span<float> out);
/// Reads a whole number of a type that counts, which may be unaligned.
std::int64_t read_count(const std::byte* stored);
/// Writes values as a convertible type or one that counts, to the nearest one and to the even one
/// of two, little-endian; what is beyond the largest becomes infinite.
void narrow(WeightType type, std::span<const float> values, std::byte* stored);

}  // namespace pptrain
