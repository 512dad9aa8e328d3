#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nn/layer.hpp"
#include "tensor/device_copy.hpp"

namespace pptrain {

/// What a task of (chunk, micro-batch) keeps between its passes.
struct StoredTask {
  std::vector<Batch> batches;  ///< of each part
  DeviceCopy<std::uint32_t> tokens;
  DeviceCopy<std::uint32_t> token_types;
  DeviceCopy<std::int32_t> targets;
  DeviceCopy<float> features;
  DeviceCopy<float> drawings;
  std::deque<DeviceCopy<std::int32_t>> documents;  ///< of each part; empty where attention reaches
                                                   ///< across documents
  std::deque<DeviceCopy<std::int32_t>> input_lengths;    ///< of each part, where data have padding
  std::deque<DeviceCopy<std::uint32_t>> decoder_tokens;  ///< of each part; empty where no layer
                                                         ///< reads them
  std::vector<std::vector<SavedPtr>> saved;              ///< of each layer of each part
};

}  // namespace pptrain
