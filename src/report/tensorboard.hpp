#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/run_folder.hpp"

namespace pptrain {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of some bytes.
std::uint32_t crc32c(std::string_view bytes);

/// The series of a run as a TensorBoard event file: records of TFRecord framing (length, masked
/// CRC-32C of it, data, masked CRC-32C of that) that each hold a protobuf `Event` with one scalar
/// (event.proto and summary.proto of TensorFlow): "train/loss", "evaluation/loss",
/// "speed/tokens_per_second", ... No wall times are known but that of the start of the last job:
/// those of its steps are that and its iterations so far, and earlier steps lie before it.
std::string tensorboard_events(const RunFolder& run);

/// Writes that as events.out.tfevents.* below `directory`, which is made. Returns the path.
/// Throws `Error` (exit code 2) where it cannot be written.
std::string write_tensorboard(const RunFolder& run, const std::string& directory);

}  // namespace pptrain
