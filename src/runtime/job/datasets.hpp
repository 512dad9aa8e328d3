#pragma once

#include <memory>

#include "config/config.hpp"
#include "data/dataset.hpp"
#include "model/model.hpp"

namespace pptrain {

/// The training and the held-back samples of a job.
struct Datasets {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> validation;  ///< null without one

  /// Whether samples of either may end in padding.
  bool have_padding() const {
    return train->has_padding() || (validation && validation->has_padding());
  }
  /// The files of tokens of both.
  std::vector<TokenOrigin> origins() const;
};

/// Opens and checks what `[data]` names. Throws `Error` (exit code 2).
Datasets open_datasets(const Config& config, const Model& model);

}  // namespace pptrain
