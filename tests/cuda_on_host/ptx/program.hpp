#pragma once

#include <map>
#include <string>

#include "grid.hpp"

namespace cuda_on_host::ptx {

/// The kernels of the PTX files that the environment variable PPTRAIN_TEST_PTX names, parted by
/// colons, which then run in the place of what the host's compiler made of them.
class Program {
 public:
  /// The program's kernels; nullptr where the variable is not set. Where PPTRAIN_TEST_LAUNCHES
  /// names a file, `write_launches` writes it at the program's end.
  static Program* current();

  /// What C++ calls a kernel's function. A fault where it is the project's and no file has it.
  const Kernel* find(const std::string& name) const;
  /// Runs a kernel and adds up its counts. A fault with the first finding.
  void run(const Kernel& kernel, const Launch& launch);

  /// All kernels by name; a test may change one.
  std::map<std::string, Kernel>& kernels() { return kernels_; }
  /// What the launches of each kernel did since the last call of this.
  std::map<std::string, Counts> take_counts();
  /// Writes a line for each kernel that ran: its symbol and the most threads that a block had.
  void write_launches(const std::string& path) const;

 private:
  explicit Program(const std::string& files);
  void add(const std::string& path);

  std::map<std::string, Kernel> kernels_;  // by name
  std::map<std::string, Counts> counts_;
  std::map<std::string, unsigned> most_threads_;  // by symbol
};

}  // namespace cuda_on_host::ptx
