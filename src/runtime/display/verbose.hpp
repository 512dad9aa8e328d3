#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace pptrain {

// What a job tells who asks for more (`--verbose`).

/// How long the parts of a job took, one after another.
class PhaseTimes {
 public:
  /// What was done since the last call, or since this was made, is called `name`.
  void end(const std::string& name);
  /// Text for people.
  std::string describe() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Phase {
    std::string name;
    double seconds = 0.0;
  };
  Clock::time_point last_ = Clock::now();
  std::vector<Phase> phases_;
};

/// Text for people: what each kind of layer takes on each kind of device at each tensor-parallel
/// degree, for the most samples that are known.
std::string describe_layer_times(const Profile& profile);

/// Times and memory of every rank over a run.
class RankTotals {
 public:
  /// The numbers of each rank in one iteration: seconds computing, communicating, idle, and
  /// something that is left out here.
  void add(const std::vector<double>& of_ranks);
  /// Text for people, with the most bytes that each rank held.
  std::string describe(const std::vector<double>& peak_bytes) const;

 private:
  struct Seconds {
    double computing = 0.0;
    double communicating = 0.0;
    double idle = 0.0;
  };
  std::vector<Seconds> ranks_;
};

}  // namespace pptrain
