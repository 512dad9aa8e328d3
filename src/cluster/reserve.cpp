#include "cluster/reserve.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace pptrain {
namespace {

/// Words of NVIDIA's names of GPUs, as its data sheets, `nvidia-smi` and clouds write them.
bool is_gpu_word(const std::string& word) {
  static const std::set<std::string> words = {
      "nvidia", "tesla", "geforce", "quadro", "rtx",  "titan", "k80",  "p4",    "p40",
      "p100",   "v100",  "t4",      "t4g",    "a2",   "a10",   "a10g", "a16",   "a30",
      "a40",    "a100",  "a800",    "a6000",  "l4",   "l20",   "l40",  "l40s",  "h20",
      "h100",   "h200",  "h800",    "gh200",  "b100", "b200",  "b300", "gb200", "gb300"};
  return words.contains(word);
}

}  // namespace

bool is_gpu_name(const std::string& kind) {
  std::string word;
  for (const char c : kind + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (is_gpu_word(word)) return true;
    word.clear();
  }
  return false;
}

double usual_gpu_reserve(double memory) {
  constexpr double mib = 1048576.0;
  // A context and the modules of kernels: nvidia-smi shows some 0.3 to 0.5 GB of a process that has
  // done nothing else.
  constexpr double context = 512.0 * mib;
  // A channel of NCCL has buffers for its three protocols, by default of 4 MiB (NCCL_BUFFSIZE), 120
  // x 640 x 8 words of 8 bytes (LL128) and 8 x 512 x 8 lines of 16 bytes (LL), towards each of two
  // neighbours in a ring: 18.4 MiB. About 24 channels between GPUs with NVLink make 441 MiB a
  // communicator.
  constexpr double communicator = 448.0 * mib;
  // A device is in a group of tensor parallelism and in one of replicas.
  constexpr double num_communicators = 2.0;
  // The 32 MiB of cuBLASLt (src/cuda/gemm.cpp), and what cuDNN and own kernels take.
  constexpr double workspaces = 128.0 * mib;
  constexpr double largest_part = 1.0 / 8.0;  // small GPUs have fewer multiprocessors and channels
  return std::min(context + num_communicators * communicator + workspaces, largest_part * memory);
}

void set_reserve(DeviceKind& kind, double bytes) {
  kind.memory = kind.whole_memory() - bytes;
  kind.reserve = bytes;
}

void set_usual_reserves(Cluster& cluster) {
  if (cluster.emulate != Emulate::no) return;
  for (DeviceKind& kind : cluster.device_kinds) {
    if (!kind.reserve && is_gpu_name(kind.name)) set_reserve(kind, usual_gpu_reserve(kind.memory));
  }
}

}  // namespace pptrain
