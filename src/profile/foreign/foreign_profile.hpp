#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/profile.hpp"

namespace pptrain {

/// Seconds of every layer for one micro-batch, as another planner's profile has them.
struct ForeignTimes {
  std::string device;       ///< its name there
  int tensor_parallel = 1;  ///< degree
  double samples = 1.0;     ///< samples of the micro-batch
  std::vector<LayerSeconds> layers;
  std::string place;  ///< file and key that they were read from, for messages
};

/// What such a profile says of one layer beside its times.
struct ForeignSizes {
  double parameters = 0.0;       ///< of the whole layer, in `ForeignProfile::parameter_unit`
  double output_elements = 0.0;  ///< numbers of a sample that cross to the next layer; 0: it does
                                 ///< not say
  double output_bytes = 0.0;     ///< bytes of these numbers
  std::map<int, double> stored_bytes;  ///< by degree: what a member holds of a sample from F to B
};

/// What `ForeignSizes::parameters` counts.
enum class ParameterUnit { elements, bytes };

/// What the files of another planner say of one model, in seconds and bytes: read, and not yet
/// compared with a model.
struct ForeignProfile {
  std::string planner;   ///< "sailor"
  std::string model;     ///< its name there
  std::string runtime;   ///< of `runtimes()`: the framework that the planner's authors measured
  std::string backward;  ///< how times of F and B came about, for people
  std::vector<ForeignTimes> times;  ///< in the order of devices, degrees and samples
  std::vector<ForeignSizes> sizes;  ///< of each layer; empty: the files say none
  std::string sizes_place = {};     ///< the file and key that they are from
  ParameterUnit parameter_unit = ParameterUnit::elements;
  int parameters_degree = 1;   ///< degree of the file that parameters are from; above 1 they may be
                               ///< a shard's
  double element_bytes = 0.0;  ///< of a number of weights; 0: the files do not say
  std::map<std::pair<std::string, int>, double> step_seconds = {};  ///< of the optimizer over the
                                                                    ///< whole model, by device and
                                                                    ///< degree
  std::vector<std::string> left_out;  ///< what the files have and a profile of pptrain has not, for
                                      ///< people

  /// Layers of the model, counted in the first of `times`; 0 without times.
  std::size_t num_layers() const { return times.empty() ? 0 : times.front().layers.size(); }
  /// Whether a plan needs no description of the model: parameters, outputs and stored bytes are
  /// known.
  bool is_whole() const;
  /// Names of its devices, each once, in the order of `times`.
  std::vector<std::string> devices() const;
};

/// The planners whose profiles are read, as `--from` takes them.
const std::vector<std::string>& foreign_planners();

/// Reads the profiles of a planner below `path`, and holds them to one another: equal numbers of
/// layers, and one time for each device, degree and number of samples. What is wrong throws `Error`
/// (exit code 2) with file and key.
ForeignProfile read_foreign_profile(const std::string& planner, const std::string& path);

}  // namespace pptrain
