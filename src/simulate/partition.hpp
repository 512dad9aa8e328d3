#pragma once

#include <algorithm>
#include <vector>

namespace pptrain {

/// Things in classes, numbered in the order of their first members.
struct Partition {
  std::vector<int> of;     ///< class of each thing
  std::vector<int> first;  ///< first member of each class

  /// How many classes there are; they are numbered 0 to this - 1.
  int num() const { return static_cast<int>(first.size()); }
  /// The classes that some things have, ascending, each once.
  std::vector<int> classes_of(const std::vector<int>& things) const {
    std::vector<int> classes;
    for (const int thing : things) classes.push_back(of[thing]);
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
  }
};

/// What a simulation may take together: things of a class do the same at the same time.
struct SimulatedClasses {
  Partition programs;
  Partition task_groups;
  Partition collectives;
  Partition lanes;
  Partition received_gathers;
};

}  // namespace pptrain
