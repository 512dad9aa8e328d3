#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/safetensors_header.hpp"

namespace pptrain {

/// Takes the header of a safetensors file as the JSON parser comes through it, so that a header of
/// any depth and size costs no more than its tensors. `StoredTensor::bytes` are those of the data
/// behind the header. Refuses, by `Error` with exit code 2, all that is no header; sizes and places
/// are not compared with anything here.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(std::string path) : path_(std::move(path)) {}

  /// Hands over the tensors in the order of the header; call once, when all of it has been parsed.
  std::vector<StoredTensor> take_tensors() { return std::move(tensors_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { unexpected(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool start_object(std::size_t size) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t size) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override;

 private:
  /// What encloses the next event.
  enum class Inside { nothing, root, metadata, tensor, shape, offsets };

  void begin_tensor_key(const std::string& name);
  void end_tensor();
  [[noreturn]] void unexpected(const std::string& value) const;
  [[noreturn]] void refuse(const std::string& problem, const std::string& reason) const;

  std::string path_;
  Inside inside_ = Inside::nothing;
  std::string name_;               ///< of the tensor at hand; "" outside
  std::string key_;                ///< the last one
  std::vector<std::string> seen_;  ///< keys of the tensor at hand
  std::vector<std::int64_t> offsets_;
  StoredTensor stored_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace pptrain
