// Whether cuDNN takes the graphs of attention for a GPU that is described by its properties
// (tests/cuda/cudnn_engines.sh).
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "cuda/cudnn_attention_graphs.hpp"

using namespace pptrain::cuda;

namespace {

CudnnDescriptor properties(const char* path) {
  std::ifstream file(path);
  std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  text.push_back('\0');
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, text);
  device.finalize();
  return device;
}

/// Without a driver, a compiled kernel cannot be loaded: that is as far as a graph comes.
template <class Graph>
bool is_taken(const CudnnAttentionShape& shape, const CudnnDescriptor& device, const char* name) {
  Graph graph(shape);
  std::string why_not;
  const bool is_built = graph.graph.build_for(device, why_not).has_value();
  const bool is_compiled = is_built || why_not.find("cuLibraryLoadData") != std::string::npos;
  std::printf("%s: %s\n", name, is_compiled ? "taken" : why_not.c_str());
  return is_compiled;
}

}  // namespace

int main(int argc, char** argv) {
  // Shapes of queries, keys and values in one matrix, and in matrices of their own.
  constexpr cudnnDataType_t bf16 = CUDNN_DATA_BFLOAT16, fp16 = CUDNN_DATA_HALF;
  const std::vector<CudnnAttentionShape> shapes = {
      {16, 1024, 12, 64, 1024, 12, true, 0, 36 * 64, 36 * 64, 36 * 64, 12 * 64, bf16},
      {2, 33, 3, 80, 33, 3, true, 0, 9 * 80, 9 * 80, 9 * 80, 3 * 80, fp16},
      {4, 2048, 32, 128, 2048, 8, true, 0, 32 * 128, 8 * 128, 8 * 128, 32 * 128, bf16},
      {2, 65, 6, 80, 65, 2, true, 0, 10 * 80, 10 * 80, 10 * 80, 6 * 80, fp16},
      {4, 2048, 32, 128, 2048, 8, true, 512, 32 * 128, 8 * 128, 8 * 128, 32 * 128, bf16},
      {2, 65, 6, 80, 65, 2, true, 7, 10 * 80, 10 * 80, 10 * 80, 6 * 80, fp16},
      {64, 512, 12, 64, 512, 12, false, 0, 36 * 64, 36 * 64, 36 * 64, 12 * 64, bf16},
      {128, 197, 12, 64, 197, 12, false, 0, 36 * 64, 36 * 64, 36 * 64, 12 * 64, bf16},
      {4, 114, 8, 64, 512, 8, false, 0, 8 * 64, 16 * 64, 16 * 64, 8 * 64, bf16},
      {2, 97, 4, 24, 35, 2, false, 0, 4 * 24, 4 * 24, 4 * 24, 4 * 24, fp16}};
  bool all = true;
  for (int i = 1; i < argc; ++i) {
    const CudnnDescriptor device = properties(argv[i]);
    for (const CudnnAttentionShape& shape : shapes) {
      std::printf(
          "%s, length %lld to %lld, %lld heads of %lld elements, %lld of keys, %s, window %lld\n",
          argv[i], static_cast<long long>(shape.length), static_cast<long long>(shape.keys),
          static_cast<long long>(shape.heads), static_cast<long long>(shape.head_size),
          static_cast<long long>(shape.key_heads), shape.causal ? "causal" : "whole",
          static_cast<long long>(shape.window));
      all = is_taken<CudnnForward>(shape, device, "forward") && all;
      all = is_taken<CudnnBackward>(shape, device, "backward") && all;
    }
  }
  return all ? 0 : 1;
}
