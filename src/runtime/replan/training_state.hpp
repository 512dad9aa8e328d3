#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "runtime/execute/session.hpp"

namespace pptrain {

/// A part of the training state that a rank holds: some elements of one quantity of a logical
/// parameter, in the order of the elements. Quantity 0 are the weights (fp32 masters), the others
/// what the optimizer keeps (`quantities_of`).
struct StatePart {
  int parameter = 0;  ///< in `stored_tensors`
  int quantity = 0;
  ParameterSpec division;  ///< how the quantity is divided into shards; no name
  Interval part;           ///< the shard, on the axis ...
  std::int64_t axis_size = 1;
  Interval local;            ///< of the shard's elements in increasing order: what of them is held
  float* values = nullptr;   ///< null for a part of another rank
  Device* device = nullptr;  ///< in whose memory they are; likewise
  /// Elements that are held.
  std::int64_t size() const { return local.size(); }
};

/// What this rank of a session holds, ordered by (parameter, quantity); nothing on a rank that the
/// plan leaves out.
std::vector<StatePart> held_state(const Model& model, Session& session);

/// After what is held was set: brings the copies of the weights in the type of the activations up
/// to date.
void refresh_copies(Session& session);

/// Elements that the part holds of a flattened quantity (`quantities_of`), in increasing order.
std::vector<Interval> elements_of(const StatePart& part, const ParameterSpec& quantity);

/// Parts without their values, for other ranks.
std::string pack_parts(const std::vector<StatePart>& parts);
std::vector<StatePart> unpack_parts(const std::string& packed);

}  // namespace pptrain
