#include "profile/context_exchange.hpp"

#include <algorithm>
#include <limits>

#include "profile/ring.hpp"

namespace pptrain {
namespace {

/// The link over which a ring of replicas on nodes of this group passes slices. A ring that leaves
/// a node crosses its uplink once, beside those of the other members of the tensor-parallel groups
/// there.
Link ring_link(const NodeGroup& group, int degree, std::int64_t replicas,
               const Communication& communication) {
  Link link = group.link;
  link.bandwidth *= communication.link_share *
                    reached_links(communication, group.device_kind, static_cast<double>(replicas));
  if (replicas * degree <= group.num_devices || group.uplink.bandwidth <= 0.0) return link;
  const double rings = std::min(degree, group.num_devices);
  link.bandwidth =
      std::min(link.bandwidth, communication.uplink_share * group.uplink.bandwidth / rings);
  link.latency = std::max(link.latency, group.uplink.latency);
  return link;
}

/// The attention of a pass, without the rest of it.
std::vector<Kernel> attention_of(const std::vector<Kernel>& pass) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : pass) {
    if (kernel.attention) kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace

ContextExchange::ContextExchange(const Cluster& cluster, const DeviceKind& kind, int degree,
                                 std::int64_t replicas, const Communication& communication,
                                 bool hides)
    : replicas_(replicas), degree_(degree), hides_(hides), communication_(communication) {
  link_.bandwidth = std::numeric_limits<double>::infinity();
  for (const NodeGroup& group : cluster.groups) {
    if (group.device_kind != kind.name) continue;
    const Link link = ring_link(group, degree, replicas, communication);
    if (link.bandwidth < link_.bandwidth) link_ = link;
  }
}

LayerSeconds ContextExchange::seconds(const Work& work, const Roofline& roofline,
                                      double samples) const {
  if (replicas_ == 1) return {};
  const Work attention = {attention_of(work.forward), attention_of(work.backward_input), {}};
  if (attention.forward.empty()) return {};
  const auto n = static_cast<double>(replicas_);
  double forward = 0.0;
  for (const Kernel& kernel : attention.forward) {
    const ScoresShape& shape = *kernel.attention;
    const double bytes = samples * shape.key_values * shape.bytes / degree_;
    forward += ring_gather_seconds(communication_, n, bytes, link_.bandwidth, link_.latency);
  }
  const LayerSeconds beside = roofline_seconds(attention, roofline, degree_, samples / n);
  const double hidden = hides_ ? (n - 1.0) / n : 0.0;  // nothing comes beside the first slice, a
                                                       // replica's own
  return {std::max(0.0, forward - hidden * beside.forward),
          std::max(0.0, 2.0 * forward - hidden * beside.backward_input), 0.0};
}

}  // namespace pptrain
