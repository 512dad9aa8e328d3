#pragma once

#include <vector>

#include "base/key_table.hpp"

/// The keys of PLAN.json.
namespace pptrain::plan_keys {

extern const KeyTable root;
extern const KeyTable device_kind;
extern const KeyTable schedule;
extern const KeyTable stage;
extern const KeyTable block;
extern const KeyTable predicted;
extern const KeyTable error_band;
extern const KeyTable parts;
extern const KeyTable speed;
extern const KeyTable kind_prediction;
extern const KeyTable cost;
extern const KeyTable training;
extern const KeyTable failures;
extern const KeyTable search;
extern const KeyTable schedule_alternative;
extern const KeyTable rank_correlations;
extern const KeyTable alternative;

/// All objects, in the order of the file.
std::vector<KeyTable> all();

}  // namespace pptrain::plan_keys
