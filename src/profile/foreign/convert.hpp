#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "model/model.hpp"
#include "profile/foreign/foreign_profile.hpp"

namespace pptrain {

/// Kinds of device in pptrain's profile, by their names in the planner's.
using ForeignKinds = std::map<std::string, std::string>;

/// Sets what nobody said of the execution that was measured: `[profile] like`, and the precision
/// where the files tell the bytes of a weight (fp32 where they do not). Returns what was taken, for
/// people.
std::vector<std::string> take_execution(const ForeignProfile& from, Config& config);

/// Refuses (`Error`, exit code 2) a model that the profile is not of: another number of layers (the
/// final norm may be a layer of its own), other parameters or outputs of the layers between the
/// first and the last, or a degree that does not divide what tensor-parallel members divide.
void check_foreign_model(const ForeignProfile& from, const Model& model);

/// The planner's times with names, sizes and axes of the configuration's model, which
/// `check_foreign_model` has passed. Memory is what the files say of stored bytes, and what the
/// runtime of `[profile] like` holds where they say nothing.
Profile converted_profile(const ForeignProfile& from, const ForeignKinds& kinds,
                          const Config& config, const Model& model);

/// The planner's times with the sizes of its own files, which have to be whole
/// (`ForeignProfile::is_whole`). Layers are called by their numbers; Adam's state is counted.
Profile converted_profile(const ForeignProfile& from, const ForeignKinds& kinds,
                          const Config& config);

}  // namespace pptrain
