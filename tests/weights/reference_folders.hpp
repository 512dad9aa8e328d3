#pragma once

#include <filesystem>
#include <vector>

#include "support/files.hpp"

namespace pptrain {

/// The folders of models that save_pretrained of transformers has written.
inline std::vector<std::filesystem::path> reference_folders() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test_data("models"))) {
    if (entry.path().filename() == "config.json") found.push_back(entry.path().parent_path());
  }
  return found;
}

}  // namespace pptrain
