#include "report/tensorboard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "report/step_times.hpp"

namespace pptrain {
namespace {

template <class Number>
void put_fixed(std::string& out, Number value) {
  static_assert(std::endian::native == std::endian::little,
                "TFRecord and protobuf are little-endian");
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_tag(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_tag(out, field, Wire::bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

/// Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
std::string event(double wall_time, std::int64_t step) {
  std::string out;
  put_tag(out, 1, Wire::fixed64);
  put_fixed(out, wall_time);
  put_tag(out, 2, Wire::varint);
  put_varint(out, static_cast<std::uint64_t>(step));
  return out;
}

/// Summary { repeated Value value = 1; }, Value { string tag = 1; float simple_value = 2; }
std::string scalar_event(double wall_time, std::int64_t step, const std::string& tag,
                         double scalar) {
  std::string value;
  put_bytes(value, 1, tag);
  put_tag(value, 2, Wire::fixed32);
  put_fixed(value, static_cast<float>(scalar));
  std::string summary;
  put_bytes(summary, 1, value);
  std::string out = event(wall_time, step);
  put_bytes(out, 5, summary);
  return out;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string record(const std::string& data) {
  std::string length;
  put_fixed(length, static_cast<std::uint64_t>(data.size()));
  std::string out = length;
  put_fixed(out, masked_crc(length));
  out += data;
  put_fixed(out, masked_crc(data));
  return out;
}

/// Seconds since 1970 of /environment's "started"; 0 where it is not there.
double start_of(const RunFolder& run) {
  const auto started = run.metrics.environment.find("started");
  std::tm time = {};
  if (started == run.metrics.environment.end()) return 0.0;
  const char* end = ::strptime(started->second.c_str(), "%Y-%m-%dT%H:%M:%S%z", &time);
  const long offset = time.tm_gmtoff;
  return end == nullptr ? 0.0 : static_cast<double>(::timegm(&time) - offset);
}

/// When the steps of a run were done, as far as can be told: its last job started at a known time.
class WallTimes {
 public:
  explicit WallTimes(const RunFolder& run)
      : steps_(run.metrics.history.integers.at("steps/step")),
        seconds_(training_seconds(run.metrics.history)) {
    offset_ = start_of(run) - elapsed(run.resumed_step);
  }
  /// Seconds since 1970 when so many steps were done.
  double of(std::int64_t step) const { return offset_ + elapsed(step); }

 private:
  double elapsed(std::int64_t step) const {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), step);
    return after == steps_.begin() ? 0.0
                                   : seconds_[static_cast<std::size_t>(after - steps_.begin()) - 1];
  }

  std::vector<std::int64_t> steps_;
  std::vector<double> seconds_;  ///< of all iterations until then, by row
  double offset_ = 0.0;
};

/// Name in metrics.h5 and in TensorBoard, where what stands before the slash groups the charts.
constexpr std::array<std::pair<const char*, const char*>, 7> tags = {{
    {"steps/loss", "train/loss"},
    {"steps/grad_norm", "train/grad_norm"},
    {"steps/learning_rate", "train/learning_rate"},
    {"steps/loss_scale", "train/loss_scale"},
    {"steps/iteration_seconds", "speed/iteration_seconds"},
    {"steps/tokens_per_second", "speed/tokens_per_second"},
    {"steps/model_flops_utilization", "speed/model_flops_utilization"},
}};

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41 with its bits in reverse
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc;
}

std::string tensorboard_events(const RunFolder& run) {
  const MetricsHistory& history = run.metrics.history;
  const WallTimes times(run);
  std::string version = event(times.of(0), 0);
  put_bytes(version, 3, "brain.Event:2");
  std::string out = record(version);
  const std::vector<std::int64_t>& evaluated = history.integers.at("evaluation/step");
  const std::vector<double>& losses = history.reals.at("evaluation/loss");
  std::size_t evaluation = 0;
  const auto put_evaluations = [&](std::int64_t before_step) {
    for (; evaluation < evaluated.size() && evaluated[evaluation] < before_step; ++evaluation) {
      const std::int64_t step = evaluated[evaluation];
      out += record(scalar_event(times.of(step), step, "evaluation/loss", losses[evaluation]));
    }
  };
  const std::vector<std::int64_t>& steps = history.integers.at("steps/step");
  for (std::size_t row = 0; row < steps.size(); ++row) {
    put_evaluations(steps[row]);
    const double time = times.of(steps[row]);
    for (const auto& [name, tag] : tags) {
      const double value = history.reals.at(name)[row];
      if (!std::isnan(value)) out += record(scalar_event(time, steps[row], tag, value));
    }
    const auto peak = static_cast<double>(history.integers.at("steps/peak_bytes")[row]);
    out += record(scalar_event(time, steps[row], "memory/peak_bytes", peak));
  }
  put_evaluations(std::numeric_limits<std::int64_t>::max());
  return out;
}

std::string write_tensorboard(const RunFolder& run, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(directory, error);
  const std::string suggestion = "name another folder with --tensorboard";
  if (error)
    throw_unwritable({directory, "the folder cannot be made", "", suggestion}, error.value());
  const std::string name = fs::path(run.full_path()).filename();
  const std::string path =
      directory + fmt::format("/events.out.tfevents.{}", name.empty() ? "run" : name);
  write_file(path, tensorboard_events(run), suggestion);
  return path;
}

}  // namespace pptrain
