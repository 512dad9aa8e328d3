#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace pptrain {

/// A model of a published experiment under a name of its own: what a `config.json`, or tables
/// `[[model.layer]]`, say of it, so that it is planned and trained like any other.
struct PublishedModel {
  std::string name = {};
  std::string source = {};         ///< where its dimensions are from
  std::string description = {};    ///< text of a config.json; "": `chain` says it
  std::string chain = {};          ///< text of the tables
  std::int64_t vocabulary = 0;     ///< of a chain of texts
  std::int64_t tokens = 0;         ///< of a sample; 0: it reads no text
  std::int64_t source_tokens = 0;  ///< of a source; 0: there is none
};

/// All published models, in the order of the documentation.
const std::vector<PublishedModel>& published_models();

/// The published model of that name, or null.
const PublishedModel* published_model(const std::string& name);

/// Writes the dimensions of the published model into the configuration.
void take_published(const PublishedModel& published, ModelConfig& model);
void take_published(const PublishedModel& published, TrainingConfig& training);

}  // namespace pptrain
