#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/interval.hpp"
#include "comm/communicator.hpp"
#include "model/model.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A run of a model's layers and the processes that share each of them.
struct TextPart {
  Interval layers;
  Communicator* group = nullptr;                        ///< of these processes; null on all others
  std::map<std::string, std::vector<Interval>> shards;  ///< by axis, as in a plan: what is not
                                                        ///< there is divided evenly
  WeightDivision division = WeightDivision::columns;  ///< of layers that may be divided either way
};

/// Processes that continue a text together, each with parts of the model.
///
/// Functions are Collective over the team.
class TextTeam {
 public:
  virtual ~TextTeam() = default;
  /// All parts, in the order of the layers.
  virtual const std::vector<TextPart>& parts() const = 0;
  /// What part `part` gives goes to the processes of the part behind it: `x` (rows, columns), fp32,
  /// becomes empty on those that have no share in that part.
  virtual void pass_on(std::size_t part, Tensor& x, std::size_t rows, std::size_t columns) = 0;
  /// The token that the first process of the last part has.
  virtual std::uint32_t agree(std::uint32_t token) = 0;
};

/// One process that has all of a model.
class LonelyTeam final : public TextTeam {
 public:
  explicit LonelyTeam(int num_layers) : parts_{TextPart{{0, num_layers}, &group_, {}}} {}
  LonelyTeam(const LonelyTeam&) = delete;
  LonelyTeam& operator=(const LonelyTeam&) = delete;

  const std::vector<TextPart>& parts() const override { return parts_; }
  void pass_on(std::size_t /*part*/, Tensor& /*x*/, std::size_t /*rows*/,
               std::size_t /*columns*/) override {}
  std::uint32_t agree(std::uint32_t token) override { return token; }

 private:
  SilentCommunicator group_;
  std::vector<TextPart> parts_;
};

}  // namespace pptrain
