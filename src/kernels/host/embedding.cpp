#include "kernels/bodies/embedding.hpp"

#include <algorithm>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/launch.hpp"

namespace pptrain {

using namespace kernels;

void HostKernels::embedding_forward(const EmbeddingTokens& of, const Matrix& token_embedding,
                                    const Matrix& position_embedding, bool add_position,
                                    const Matrix& x) {
  launch_rows(
      "embedding_forward", 0, x.rows,
      bodies::embedding_forward_body(of, token_embedding, position_embedding, add_position, x));
}

void HostKernels::embedding_backward(const EmbeddingTokens& of, const Matrix& dx,
                                     const Matrix& dtoken_embedding,
                                     const Matrix& dposition_embedding) {
  const bodies::EmbeddingBackward body{of.tokens,
                                       dx.rows,
                                       of.sequence_length,
                                       read_rows<float>(dx),
                                       of.first_token,
                                       static_cast<std::int64_t>(dtoken_embedding.rows),
                                       write_rows<float>(dtoken_embedding),
                                       write_rows<float>(dposition_embedding)};
  // Rows share of.tokens, so threads get columns.
  constexpr std::size_t piece = 1024;
  const std::size_t columns = dx.columns;
  Kokkos::parallel_for(
      "embedding_backward", pieces((columns + piece - 1) / piece),
      [=](std::size_t p) { body(SerialTeam(), p * piece, std::min(piece, columns - p * piece)); });
}

}  // namespace pptrain
