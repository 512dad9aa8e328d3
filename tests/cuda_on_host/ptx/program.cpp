#include "program.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "parser.hpp"

namespace cuda_on_host::ptx {
namespace {

bool is_anonymous(const std::string& name) {
  return name.find("(anonymous namespace)") != std::string::npos;
}

}  // namespace

Program* Program::current() {
  const char* files = std::getenv("PPTRAIN_TEST_PTX");
  static Program* program = files == nullptr ? nullptr : new Program(files);
  static const bool writes =
      program != nullptr && std::getenv("PPTRAIN_TEST_LAUNCHES") != nullptr &&
      std::atexit([] { program->write_launches(std::getenv("PPTRAIN_TEST_LAUNCHES")); }) == 0;
  (void)writes;
  return program;
}

Program::Program(const std::string& files) {
  std::stringstream paths(files);
  for (std::string path; std::getline(paths, path, ':');) add(path);
}

/// Files share templates, which are the same in each. What is of one file alone has one name.
void Program::add(const std::string& path) {
  std::ifstream file(path);
  if (!file) fault("PTX: cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (Kernel& kernel : parse(text, std::filesystem::path(path).filename())) {
    const std::string name = kernel.name;
    const bool is_new = kernels_.emplace(name, std::move(kernel)).second;
    if (!is_new && is_anonymous(name)) fault("PTX: two files have a kernel of their own " + name);
  }
}

const Kernel* Program::find(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return &found->second;
  if (name.find("pptrain::") != std::string::npos) fault("PTX: no file has " + name);
  return nullptr;  // a kernel of a test
}

void Program::run(const Kernel& kernel, const Launch& launch) {
  const Outcome outcome = ptx::run(kernel, launch);
  if (!outcome.findings.empty()) fault("PTX: " + outcome.findings.front());
  counts_[kernel.name] += outcome.counts;
  unsigned& most = most_threads_[kernel.symbol];
  most = std::max(most, launch.block.x * launch.block.y * launch.block.z);
}

void Program::write_launches(const std::string& path) const {
  std::ofstream file(path);
  for (const auto& [symbol, threads] : most_threads_) file << symbol << ' ' << threads << '\n';
}

std::map<std::string, Counts> Program::take_counts() { return std::exchange(counts_, {}); }

}  // namespace cuda_on_host::ptx
