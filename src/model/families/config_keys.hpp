#pragma once

#include <functional>

#include "model/families/families.hpp"
#include "model/graph/chain.hpp"
#include "weights/config_rotary.hpp"

/// What the `config.json` of several families says in the same way.
namespace pptrain {

/// The largest sizes that a `config.json` may have: those of the configuration's own keys, far
/// above any published model, so that a file cannot ask for tables that no memory holds or sizes
/// whose products overflow.
inline constexpr std::int64_t most_layers = 65536;
inline constexpr std::int64_t most_heads = 65536;
inline constexpr std::int64_t most_width = 1 << 20;  ///< of a stream, a head, or the channels of a
                                                     ///< feature map
inline constexpr std::int64_t most_columns = 1 << 24;  ///< of a feed-forward part

/// The activation that a key names. One that is not known throws `Error` (exit code 2).
Activation activation_of(const ConfigJson& config, const std::string& key,
                         const std::string& fallback);
/// The activation of this name, which a key gives; likewise.
Activation activation_named(const ConfigJson& config, const std::string& key,
                            const std::string& name);

/// Reads probabilities of dropout, as any family calls them, for which the job has a key of its
/// own; a warning says so where one is not 0.
void note_dropout(const ConfigJson& config);

/// Heads and their sizes that fit: `heads` divide `hidden`, `key_heads` divide `heads`.
void check_heads(const ConfigJson& config, std::int64_t heads, std::int64_t key_heads,
                 const std::string& key_heads_key);

/// Rotary positions for heads of which `rotated` columns turn.
RotaryForm rotary_of(const ConfigJson& config, std::int64_t rotated, double fallback_theta,
                     const std::string& theta_key = "rope_theta");
/// Rotary positions by what has been read of the file already. A type that is not known, or numbers
/// from which no angles follow, throw `Error` (exit code 2).
RotaryForm rotary_form(const ConfigJson& config, const RotaryConfig& read, std::int64_t rotated,
                       const std::string& theta_key = "rope_theta");
/// Rotary positions for heads of which all columns turn, also by
/// `rope_parameters.partial_rotary_factor`.
RotaryForm whole_heads_turn(const ConfigJson& config, std::int64_t head_size,
                            double fallback_theta);
/// Columns of a head that turn: a part of `head_size` that `rope_parameters.partial_rotary_factor`
/// names, as transformers 5 writes it, else the key `older_key`. A part that is none, or two parts,
/// throw `Error` (exit code 2).
std::int64_t rotated_columns(const ConfigJson& config, std::int64_t head_size,
                             const std::string& older_key, double fallback);

/// A chain of equal blocks, which differ in their windows at most.
struct LlamaShape {
  ChainShape chain;  ///< without its blocks
  BlockShape block;
  std::int64_t layers = 0;            ///< blocks of the chain
  std::vector<std::int64_t> windows;  ///< of each block, as of `op::SelfAttention`; empty: none
  std::vector<RotaryForm> rotary;     ///< of each block; empty: all have that of `block`
};

/// What a class of transformers takes where `config.json` leaves a key out. Its own files are
/// written without the keys that have these values.
struct LlamaDefaults {
  std::int64_t key_heads = 0;    ///< 0: as many as heads
  bool null_means_heads = true;  ///< whether `num_key_value_heads = null` is as many as heads, or
                                 ///< an error
  std::int64_t head_size = 0;    ///< 0: hidden / heads
  double epsilon = 1e-6;         ///< of norms
  double theta = 10000.0;        ///< the base of the frequencies of rotary positions
  std::optional<std::int64_t> heads = {};       ///< nothing: they must be there
  std::optional<std::int64_t> vocabulary = {};  ///< nothing: it must be there
  std::optional<std::int64_t> hidden = {};      ///< nothing: it must be there
  bool own_rotary = false;                      ///< the family reads its rotary positions itself
};

/// The dimensions that LlamaConfig and those made after it have in common, for the family `name`.
LlamaShape llama_shape(const std::string& name, const ConfigJson& config,
                       const FamilyOptions& options, const LlamaDefaults& defaults = {});

/// The chain with its blocks, and its output layer with their norm.
ChainShape llama_chain(const LlamaShape& shape);
Model build_llama_chain(const LlamaShape& shape);

/// The window of Qwen's families, where the configuration switches it on; 0: none. `fallback`: of
/// the class, where the file has no size.
std::int64_t qwen_window(const ConfigJson& config, std::int64_t fallback = 4096);

/// Windows of the layers: `layer_types` where it stands there, else `window` for the layers that
/// slide by default, which are none without a function. A window of 0 is none, with which no layer
/// may slide.
std::vector<std::int64_t> layer_windows(
    const ConfigJson& config, std::int64_t layers, std::int64_t window,
    const std::function<bool(std::int64_t)>& slides_by_default = {});

}  // namespace pptrain
