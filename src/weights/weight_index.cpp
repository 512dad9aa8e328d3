#include "weights/weight_index.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "weights/json_text.hpp"

namespace pptrain {
namespace {

constexpr const char* fetch_again = "fetch or write the folder again";

/// Whether a name is that of a file in the folder itself, whatever the folder is.
bool stays_in_folder(const std::string& file) {
  return !file.empty() && file != "." && file != ".." && file.find('/') == std::string::npos &&
         file.find('\0') == std::string::npos;
}

}  // namespace

std::map<std::string, std::string> read_weight_index(const std::string& path) {
  const JsonText text = read_json_text(path, fetch_again);
  const auto map = text.object.find("weight_map");
  if (map == text.object.end() || !map->is_object()) {
    throw_bad_input(
        {path, "has no \"weight_map\"", "it names the file of each tensor", fetch_again});
  }
  std::map<std::string, std::string> file_by_name;
  for (const auto& member : map->items()) {
    const std::string where =
        fmt::format("{}:{}: tensor \"{}\"", path, text.lines.at(&member.value()), member.key());
    if (!member.value().is_string())
      throw_bad_input({where, "has no file", "a name in quotes is expected", fetch_again});
    const std::string file = member.value();
    if (!stays_in_folder(file)) {
      throw_bad_input({where, fmt::format("is in \"{}\"", file),
                       "that is no file in the folder of the index",
                       "put all files into one folder and name them without slashes"});
    }
    file_by_name.emplace(member.key(), file);
  }
  return file_by_name;
}

std::string write_weight_index(const std::map<std::string, std::string>& file_by_name,
                               std::int64_t total_bytes) {
  nlohmann::ordered_json index;
  index["metadata"]["total_size"] = total_bytes;
  index["weight_map"] = file_by_name;
  return index.dump(2) + "\n";
}

}  // namespace pptrain
