#include "words.hpp"

#include <cstdlib>
#include <sstream>

namespace cuda_on_host::ptx {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(trimmed(part));
  return parts;
}

unsigned bytes_of(const std::string& type) {
  return type == "pred" ? 1U : static_cast<unsigned>(std::atoi(type.c_str() + 1)) / 8U;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool begins_with(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

Declaration declaration_of(const std::string& text) {
  Declaration result;
  std::stringstream words(text);
  for (std::string word; words >> word;) {
    if (word == ".align") {
      words >> result.alignment;
    } else if (word[0] == '.') {
      result.bytes = bytes_of(word.substr(1));  // the last one is the type
    } else {
      const auto bracket = word.find('[');
      result.name = word.substr(0, bracket);
      if (bracket == std::string::npos) {
        result.alignment = result.bytes;
      } else {
        result.bytes *= std::strtoull(word.c_str() + bracket + 1, nullptr, 0);
      }
    }
  }
  return result;
}

}  // namespace cuda_on_host::ptx
