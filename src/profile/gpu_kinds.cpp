#include "profile/gpu_kinds.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace pptrain {
namespace {

/// By the word of the name that tells kinds apart. Architectures and multiprocessors: NVIDIA's data
/// sheets and papers on its architectures. The V100 of a DGX-1 and of boards with four has six
/// links to three or four neighbours and no switch (NVIDIA, "DGX-1 with Tesla V100", 2017).
const std::map<std::string, GpuKind>& kinds() {
  static const std::map<std::string, GpuKind> known = {
      {"v100", {"volta", 80, 3}},
      {"t4", {"turing", 40}},
      {"2080", {"turing", 68}},
      {"titan", {"turing", 72}},
      {"a100", {"ampere", 108}},
      {"a800", {"ampere", 108}},
      {"a30", {"ampere", 56}},
      {"a10", {"ga10x", 72}},
      {"a10g", {"ga10x", 80}},
      {"a40", {"ga10x", 84}},
      {"a6000", {"ga10x", 84}},
      {"3080", {"ga10x", 68}},
      {"3090", {"ga10x", 82}},
      {"l4", {"ada", 58}},
      {"l20", {"ada", 92}},
      {"l40", {"ada", 142}},
      {"l40s", {"ada", 142}},
      {"4080", {"ada", 76}},
      {"4090", {"ada", 128}},
      {"5060", {"blackwell-rtx", 36}},
      {"5080", {"blackwell-rtx", 84}},
      {"5090", {"blackwell-rtx", 170}},
      {"6000", {"blackwell-rtx", 188}},
      {"h20", {"hopper", 78}},
      {"h100", {"hopper", 132}},
      {"h200", {"hopper", 132}},
      {"h800", {"hopper", 132}},
      {"gh200", {"hopper", 132, 0, true}},
      {"b100", {"blackwell", 148}},
      {"b200", {"blackwell", 148}},
      {"b300", {"blackwell", 148}},
      {"gb200", {"blackwell", 148, 0, true}},
      {"gb300", {"blackwell", 148, 0, true}},
  };
  return known;
}

}  // namespace

const GpuKind* gpu_kind(const std::string& name) {
  std::string word;
  for (const char c : name + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const auto found = kinds().find(word);
    if (found != kinds().end()) return &found->second;
    word.clear();
  }
  return nullptr;
}

}  // namespace pptrain
