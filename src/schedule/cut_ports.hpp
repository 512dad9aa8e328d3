#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "schedule/pipeline_shape.hpp"

namespace pptrain {

/// When what chunks send arrives. Transfers through one port go one after another in the order in
/// which they are sent; one between nodes takes its sender's way out and its receiver's way in.
class CutPorts {
 public:
  explicit CutPorts(const PipelineShape& shape);

  /// A cut forwards or backwards.
  struct PortWay {
    CutWay time;
    std::array<int, 2> ports = {0, 0};  ///< of the sender and the receiver; the same where they
                                        ///< have one of their own
  };
  /// The number of the way from chunk `cut` to the next one.
  static int forward(int cut) { return 2 * cut; }
  /// The number of the way from the chunk behind chunk `cut` back to it.
  static int backward(int cut) { return 2 * cut + 1; }
  /// The way with this number.
  const PortWay& way(int number) const { return ways_[number]; }
  /// How many ports there are; `PortWay::ports` are 0 to this - 1.
  std::size_t num_ports() const { return free_.size(); }

  /// Makes all ports free from the start.
  void free_all() { std::fill(free_.begin(), free_.end(), 0.0); }
  /// When what can be sent from `now` on would arrive, if nothing were asked for before.
  double arrival(int number, double now) const {
    const PortWay& way = ways_[number];
    return std::max({now, free_[way.ports[0]], free_[way.ports[1]]}) + way.time.seconds;
  }
  /// Sends it. Returns when it arrives.
  double send(int number, double now) {
    const PortWay& way = ways_[number];
    const double arrives = arrival(number, now);
    free_[way.ports[0]] = free_[way.ports[1]] = arrives - way.time.seconds + way.time.busy;
    return arrives;
  }

 private:
  std::vector<PortWay> ways_;  // by cut and direction
  std::vector<double> free_;   // by port, when
};

}  // namespace pptrain
