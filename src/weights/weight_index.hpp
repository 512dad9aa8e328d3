#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace pptrain {

/// The `weight_map` of a `model.safetensors.index.json`: the file of each tensor, a name in the
/// folder of the index. What is no such index, and names that lead out of the folder, throw `Error`
/// (exit code 2) with file, line and tensor.
std::map<std::string, std::string> read_weight_index(const std::string& path);

/// An index for these tensors, as transformers writes it. `total_bytes`: of all elements.
std::string write_weight_index(const std::map<std::string, std::string>& file_by_name,
                               std::int64_t total_bytes);

}  // namespace pptrain
