#include "config/check_chain.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// One layer with what a message says of it.
class ChainLayer {
 public:
  ChainLayer(const Config& config, std::size_t index)
      : config_(config), layer_(config.model.layer[index]), place_(fmt::format("model.layer[{}]", index)) {}

  void check_kind(const std::string& wanted, const std::string& reason) const {
    if (layer_.kind == wanted) return;
    refuse("kind", fmt::format("{} is of the kind \"{}\", not \"{}\"", place_, layer_.kind, wanted), reason,
           "a chain is an embedding, blocks, and an output");
  }

  void check_block(std::int64_t hidden) const {
    if (layer_.head_size == 0 && hidden % layer_.heads != 0) {
      refuse("heads", fmt::format("heads = {} does not divide columns = {}", layer_.heads, hidden),
             "every head gets equally many columns", "use other heads, or give head_size");
    }
    if (layer_.heads % layer_.num_key_heads() != 0) {
      refuse("key_heads", fmt::format("key_heads = {} does not divide heads = {}", layer_.key_heads, layer_.heads),
             "every key head serves equally many query heads", "use a divisor of heads");
    }
    const std::int64_t rotated = layer_.rotated_columns(hidden);
    if (layer_.rotary_theta > 0.0 && (rotated == 0 || rotated % 2 != 0)) {
      refuse("rotary_share", fmt::format("{} of {} columns of a head turn", rotated, layer_.head_columns(hidden)),
             "rotary positions turn pairs of columns", "use another head_size or rotary_share");
    }
    check_experts();
  }

 private:
  void check_experts() const {
    if (layer_.experts == 0) return check_no_experts();
    if (layer_.experts_per_token > layer_.experts) {
      refuse("experts_per_token",
             fmt::format("experts_per_token = {} with experts = {}", layer_.experts_per_token, layer_.experts),
             "a position goes to several experts, each another one", "correct one of the two numbers");
    }
    if (!layer_.gated) {
      refuse("experts", "experts without gated = true", "experts are gated feed-forward parts, as in Mixtral",
             "add gated = true");
    }
    const std::string key = layer_.parallel ? "parallel" : "feed_forward_bias";
    if (!layer_.parallel && !layer_.feed_forward_bias) return;
    refuse(key, fmt::format("{} = true with experts", key),
           layer_.parallel ? "a part with experts comes behind attention, as a layer of its own"
                           : "experts have no biases",
           "remove the key");
  }

  /// A written configuration has all keys, so that only other values than the defaults ask for something.
  void check_no_experts() const {
    const LayerConfig none;
    const std::string key = layer_.experts_per_token != none.experts_per_token     ? "experts_per_token"
                            : layer_.experts_sum_to_one != none.experts_sum_to_one ? "experts_sum_to_one"
                            : layer_.shared_expert != none.shared_expert           ? "shared_expert"
                                                                                   : "";
    if (key.empty()) return;
    refuse(key, key + " without experts", "the block has one feed-forward part", "add experts, or remove the key");
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& problem, const std::string& reason,
                           const std::string& suggestion) const {
    const std::string full = place_ + "." + key;
    throw_bad_input({config_.where(config_.places.contains(full) ? full : place_), problem, reason, suggestion});
  }

  const Config& config_;
  const LayerConfig& layer_;
  std::string place_;
};

}  // namespace

void check_chain(const Config& config) {
  const std::vector<LayerConfig>& layers = config.model.layer;
  if (layers.size() < 3) {
    throw_bad_input({config.where("model.layer[0]"), fmt::format("a chain of {} [[model.layer]]", layers.size()),
                     "it takes an embedding, a block and an output at least", "write the others down too"});
  }
  ChainLayer(config, 0).check_kind("embedding", "tokens become vectors first");
  for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
    const ChainLayer layer(config, i);
    layer.check_kind("block", "what stands between embedding and output is a block");
    layer.check_block(layers.front().columns);
  }
  ChainLayer(config, layers.size() - 1).check_kind("output", "the last layer computes the loss");
}

}  // namespace pptrain
