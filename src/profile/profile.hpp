#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "model/folds/layer_bytes.hpp"
#include "profile/error_band.hpp"

namespace pptrain {

/// Seconds of one layer for one micro-batch, computation only.
struct LayerSeconds {
  double forward = 0.0;
  double backward_input = 0.0;
  double backward_weight = 0.0;
  /// Seconds of F, B and W together.
  double total() const { return forward + backward_input + backward_weight; }
};

/// One measured row of a layer.
struct ProfileRow {
  std::string device;       ///< device kind
  int tensor_parallel = 1;  ///< degree
  double samples = 1.0;     ///< samples of a micro-batch on one replica
  LayerSeconds seconds;
  bool split_known = true;  ///< false: only a whole backward time was given, halved into the parts
  std::optional<LayerBytes> bytes = std::nullopt;  ///< of one member of the group; nothing: not
                                                   ///< measured
};

struct ProfileLayer {
  std::string name;
  double parameters = 0.0;
  double output_bytes = 0.0;                     ///< per sample
  double stored_bytes = 0.0;                     ///< per sample
  double tensor_parallel_allreduce_bytes = 0.0;  ///< per sample, each of F and B
  std::vector<ProfileRow> rows;
  /// Seconds of the optimizer step over this layer per (device kind, degree); absent: unknown, 0.
  std::map<std::pair<std::string, int>, double> update_seconds;
  double undivided_parameters = 0.0;  ///< of its parameters, what every member of a tensor-parallel
                                      ///< group holds
  double batch_norms = 0.0;          ///< whose statistics the replicas of a stage exchange for each
                                     ///< micro-batch
  double batch_norm_channels = 0.0;  ///< of all of them together
  double exchange_bytes = 0.0;  ///< per sample, each of F and B: rows that go to experts and come
                                ///< back
  bool repeated = true;  ///< whether full recomputation makes it again; otherwise it keeps what it
                         ///< stores
  double selective_part = 0.0;  ///< of F's computation, what selective recomputation makes again

  /// What B takes again of `seconds` in which F computes.
  double again(double seconds, Recompute recompute) const {
    if (recompute == Recompute::selective) return selective_part * seconds;
    return sums_again(recompute) ? seconds : 0.0;
  }
  /// Whether B sums over the tensor-parallel group again what F sums: selective recomputation keeps
  /// such sums.
  bool sums_again(Recompute recompute) const { return recompute == Recompute::full && repeated; }
};

struct BytesPerParameter {
  double weight = 4.0;
  double gradient = 4.0;
  double optimizer = 8.0;
  double sent_gradient = 0.0;  ///< of a gradient as it goes from replica to replica; 0: as it is
                               ///< held

  /// Bytes of one gradient as it goes from replica to replica.
  double sent() const { return sent_gradient > 0.0 ? sent_gradient : gradient; }
};

/// How collectives and messages run in the runtime that a profile is of, beyond the closed forms of
/// docs/cost.md. The defaults are those of pptrain. Only the simulator knows of it.
struct Communication {
  double link_share = 1.0;      ///< part of a link's bandwidth that a collective reaches with large
                                ///< messages
  double uplink_share = 1.0;    ///< part of an uplink's bandwidth that a collective reaches with
                                ///< large messages
  double half_bytes = 0.0;      ///< of a message that reaches half of it
  double start_seconds = 0.0;   ///< of each collective
  bool shares_uplinks = false;  ///< groups with members on the same nodes have a part of the
                                ///< uplinks each
  bool hides_sums = true;       ///< gradients are summed layer by layer beside the backward pass
  double beside = 0.0;  ///< part of hidden communication by which the computation beside it takes
                        ///< longer
  /// Bytes per second of a device's sends to other nodes where tasks wait for them; 0: sends never
  /// block.
  double blocking_bandwidth = 0.0;
  std::map<std::string, int> link_neighbours = {};  ///< of kinds without a switch between those of
                                                    ///< a node: how many neighbours the links of
                                                    ///< one reach
  bool is_own() const { return half_bytes == 0.0 && link_share == 1.0; }
};

/// How fast each layer of a model runs on each kind of device: PROFILE.json.
class Profile {
 public:
  std::string model;
  std::string source;  ///< where its figures are from, for people; "": not said
  std::string like;    ///< the runtime whose execution it is of; "": pptrain's own
  BytesPerParameter bytes_per_parameter;
  Communication communication;
  /// Whether members of a tensor-parallel group divide what goes from layer to layer along the
  /// sequence.
  bool sequence_parallel = false;
  /// Replicas that divide the positions of each sample. A sample of the rows, and of all figures
  /// per sample, is then the share that one of them has.
  std::int64_t context = 1;
  std::optional<ErrorBand> error_band;  ///< of a computed profile, where runs on such devices were
                                        ///< graded
  std::vector<ProfileLayer> layers;
  /// Lengths of the axes along which tensor-parallel members may divide layers unevenly: "heads",
  /// "columns", "vocabulary". Empty: unknown, shards are even.
  std::map<std::string, std::int64_t> axes;
  /// Bytes of communication buffers and workspace that every device needs beside the sum of
  /// docs/cost.md; 0 for a plan from a profile alone.
  double workspace_bytes = 0.0;
  /// Bytes of communication buffers and workspace that every device needs for each sample of a
  /// replica's micro-batch.
  double workspace_bytes_per_sample = 0.0;

  int num_layers() const { return static_cast<int>(layers.size()); }

  /// Bytes per sample that one of `tensor_parallel` members has of the input of `layer`; 0 of the
  /// first one, which reads the samples.
  double input_bytes(std::int64_t layer, int tensor_parallel) const {
    return layer == 0 ? 0.0
                      : layers[layer - 1].output_bytes / (sequence_parallel ? tensor_parallel : 1);
  }

  /// Seconds of `layer` on `device` at degree `tensor_parallel` for `samples`:
  /// linear between two rows, proportional through the nearest row outside.
  /// Nothing when there is no row for (device, degree).
  std::optional<LayerSeconds> seconds(int layer, const std::string& device, int tensor_parallel,
                                      double samples) const;

  /// What one member of a group of `tensor_parallel` holds, between rows as `seconds` is. Nothing
  /// where a row that is needed does not say.
  std::optional<LayerBytes> bytes(int layer, const std::string& device, int tensor_parallel,
                                  double samples) const;

  /// Tensor-parallel degrees that some layer has rows at, in ascending order.
  std::vector<int> degrees() const;
  /// Whether the layer has rows for (device, degree).
  bool has_degree(int layer, const std::string& device, int tensor_parallel) const;
  /// Whether every layer has rows for (device, degree).
  bool has_degree(const std::string& device, int tensor_parallel) const;

  /// Seconds of the optimizer step, 0 where unknown.
  double update_seconds(int layer, const std::string& device, int tensor_parallel) const;
};

/// Reads PROFILE.json (`pptrain.profile/1`); bad input throws `Error` (exit code 2).
Profile read_profile(const std::string& path);
Profile parse_profile(const std::string& text, const std::string& source);
std::string write_profile(const Profile& profile);

}  // namespace pptrain
