#pragma once

#include "model/chain.hpp"
#include "model/families/families.hpp"

/// What the `config.json` of several families says in the same way.
namespace pptrain {

/// The activation that a key names. One that is not known throws `Error` (exit code 2).
Activation activation_of(const ConfigJson& config, const std::string& key, const std::string& fallback);
/// The activation of this name, which a key gives; likewise.
Activation activation_named(const ConfigJson& config, const std::string& key, const std::string& name);

/// Reads probabilities of dropout, for which the job has a key of its own; a warning says so where one is not 0.
void note_dropout(const ConfigJson& config, const std::vector<std::string>& keys);

/// Heads and their sizes that fit: `heads` divide `hidden`, `key_heads` divide `heads`.
void check_heads(const ConfigJson& config, std::int64_t heads, std::int64_t key_heads,
                 const std::string& key_heads_key);

/// Rotary positions for heads of which `rotated` columns turn.
RotaryForm rotary_of(const ConfigJson& config, std::int64_t rotated, double fallback_theta,
                     const std::string& theta_key = "rope_theta");

/// A chain of equal blocks, which differ in their windows at most.
struct LlamaShape {
  ChainShape chain;  ///< without its blocks
  BlockShape block;
  std::int64_t layers = 0;            ///< blocks of the chain
  std::vector<std::int64_t> windows;  ///< of each block, as of `op::SelfAttention`; empty: none
};

/// The dimensions that LlamaConfig and those made after it have in common, for the family `name`.
/// `fallback_head_size`: 0 is hidden / heads.
LlamaShape llama_shape(const std::string& name, const ConfigJson& config, const FamilyOptions& options,
                       std::int64_t fallback_head_size = 0);

/// The chain with its blocks, and its output layer with their norm.
ChainShape llama_chain(const LlamaShape& shape);
Model build_llama_chain(const LlamaShape& shape);

/// Windows of the layers: `layer_types` where it stands there, else `window` for the layers from `first` on.
std::vector<std::int64_t> layer_windows(const ConfigJson& config, std::int64_t layers, std::int64_t window,
                                        std::int64_t first);

}  // namespace pptrain
