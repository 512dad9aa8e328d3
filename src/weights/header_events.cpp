#include "weights/header_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/json_levels.hpp"

namespace pptrain {
namespace {

constexpr const char* metadata_key = "__metadata__";
// Beyond what any program makes; a bound on what a tensor's shape costs.
constexpr std::size_t max_dimensions = 64;

}  // namespace

bool HeaderEvents::number_unsigned(number_unsigned_t value) {
  if (inside_ != Inside::shape && inside_ != Inside::offsets) unexpected(std::to_string(value));
  if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse(fmt::format("\"{}\" has the number {}", key_, value), "no file has so many bytes");
  }
  std::vector<std::int64_t>& numbers = inside_ == Inside::shape ? stored_.tensor.shape : offsets_;
  if (numbers.size() == (inside_ == Inside::shape ? max_dimensions : 2)) {
    refuse(fmt::format("\"{}\" has more than {} numbers", key_, numbers.size()),
           inside_ == Inside::shape ? "no tensor has so many dimensions"
                                    : "begin and end are expected");
  }
  numbers.push_back(static_cast<std::int64_t>(value));
  return true;
}

bool HeaderEvents::number_float(number_float_t /*value*/, const string_t& text) {
  unexpected(text);
}

bool HeaderEvents::string(string_t& value) {
  if (inside_ == Inside::metadata) return true;
  if (inside_ != Inside::tensor || key_ != "dtype") unexpected("text");
  const std::optional<WeightType> type = weight_type(value);
  if (!type)
    refuse(fmt::format("has the unknown dtype \"{}\"", value), "its elements cannot be told apart");
  stored_.tensor.type = *type;
  return true;
}

bool HeaderEvents::binary(binary_t& /*value*/) { unexpected("binary data"); }

bool HeaderEvents::start_object(std::size_t /*size*/) {
  if (inside_ == Inside::nothing) {
    inside_ = Inside::root;
  } else if (inside_ != Inside::root) {
    unexpected("an object");
  } else if (key_ == metadata_key) {
    inside_ = Inside::metadata;
  } else {
    inside_ = Inside::tensor;
    name_ = key_;
    seen_.clear();
    offsets_.clear();
    stored_ = {};
    stored_.tensor.name = name_;
  }
  return true;
}

bool HeaderEvents::key(string_t& name) {
  if (inside_ == Inside::tensor) begin_tensor_key(name);
  key_ = name;
  return true;
}

void HeaderEvents::begin_tensor_key(const std::string& name) {
  if (name != "dtype" && name != "shape" && name != "data_offsets") {
    refuse(fmt::format("has the unknown key \"{}\"", name),
           "dtype, shape and data_offsets are known");
  }
  if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
    refuse(fmt::format("has the key \"{}\" twice", name), "one of them must be wrong");
  }
  seen_.push_back(name);
}

bool HeaderEvents::end_object() {
  if (inside_ == Inside::tensor) end_tensor();
  inside_ = inside_ == Inside::root ? Inside::nothing : Inside::root;
  return true;
}

void HeaderEvents::end_tensor() {
  for (const char* needed : {"dtype", "shape", "data_offsets"}) {
    if (std::find(seen_.begin(), seen_.end(), needed) == seen_.end()) {
      refuse(fmt::format("has no \"{}\"", needed), "its elements cannot be found without");
    }
  }
  if (offsets_.size() != 2)
    refuse("has \"data_offsets\" of another length than 2", "begin and end are expected");
  stored_.bytes = {offsets_[0], offsets_[1]};
  tensors_.push_back(std::move(stored_));
  name_.clear();
}

bool HeaderEvents::start_array(std::size_t /*size*/) {
  if (inside_ != Inside::tensor || key_ == "dtype") unexpected("a list");
  inside_ = key_ == "shape" ? Inside::shape : Inside::offsets;
  return true;
}

bool HeaderEvents::end_array() {
  inside_ = Inside::tensor;
  return true;
}

bool HeaderEvents::parse_error(std::size_t position, const std::string& /*token*/,
                               const nlohmann::detail::exception& error) {
  refuse(fmt::format("the header is no JSON at its byte {}", position), json_reason(error.what()));
}

void HeaderEvents::unexpected(const std::string& value) const {
  if (inside_ == Inside::nothing || key_.empty()) {
    refuse(fmt::format("the header has {} where an object is expected", value),
           "it names the tensors");
  }
  refuse(fmt::format("\"{}\" has {} in the header", key_, value),
         "a tensor is described otherwise");
}

void HeaderEvents::refuse(const std::string& problem, const std::string& reason) const {
  throw_bad_input({name_.empty() ? path_ : fmt::format("{}: tensor \"{}\"", path_, name_), problem,
                   reason,
                   "the file is damaged or is no safetensors file: fetch or write it again"});
}

}  // namespace pptrain
