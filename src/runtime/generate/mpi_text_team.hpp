#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "comm/mpi_communicator.hpp"
#include "comm/waiter.hpp"
#include "nn/text_team.hpp"
#include "runtime/generate/text_division.hpp"

namespace pptrain {

/// Ranks that continue a text together, over MPI.
class MpiTextTeam final : public TextTeam {
 public:
  /// The waiter outlives it. Ranks beyond the division have nothing to do but to hear of tokens.
  /// Collective over `world`.
  MpiTextTeam(MPI_Comm world, Waiter& waiter, const TextDivision& division);
  ~MpiTextTeam() override;
  MpiTextTeam(const MpiTextTeam&) = delete;
  MpiTextTeam& operator=(const MpiTextTeam&) = delete;

  const std::vector<TextPart>& parts() const override { return parts_; }
  void pass_on(std::size_t part, Tensor& x, std::size_t rows, std::size_t columns) override;
  std::uint32_t agree(std::uint32_t token) override;

 private:
  bool has_share(std::size_t part) const { return parts_[part].group != nullptr; }
  void send(const std::vector<int>& ranks, int tag, const void* data, std::size_t bytes);
  void receive(int rank, int tag, void* data, std::size_t bytes);

  Waiter& waiter_;
  int rank_;
  int num_ranks_;
  TextDivision division_;
  MpiTransport transport_;
  Arena arena_;
  std::vector<std::unique_ptr<MpiCommunicator>> groups_;
  std::vector<TextPart> parts_;
};

}  // namespace pptrain
