#include "planners/published/dapple/transfer_cost.hpp"

#include <algorithm>

namespace pptrain {
namespace {

/// The replicas of a stage one after another: node, and how many samples end where.
class ReplicaCursor {
 public:
  ReplicaCursor(const std::vector<TakenDevices>& taken, std::int64_t micro_batch)
      : taken_(taken),
        each_(micro_batch / num_devices(taken)),
        more_(micro_batch % num_devices(taken)) {
    end_ = size();
  }

  bool done() const { return run_ == taken_.size(); }
  int node() const { return taken_[run_].node + node_; }
  /// End of the replica's samples in the micro-batch.
  std::int64_t end() const { return end_; }

  void next() {
    ++replica_;
    if (++device_ == taken_[run_].count) {
      device_ = 0;
      if (++node_ == taken_[run_].num_nodes) {
        node_ = 0;
        ++run_;
      }
    }
    end_ += size();
  }

 private:
  std::int64_t size() const { return each_ + (replica_ < more_ ? 1 : 0); }

  const std::vector<TakenDevices>& taken_;
  std::int64_t each_;
  std::int64_t more_;  // replicas with one sample more, the first ones
  std::int64_t replica_ = 0;
  std::int64_t end_ = 0;
  std::size_t run_ = 0;
  int node_ = 0;
  int device_ = 0;
};

/// Samples that pass a node's uplink in one direction; devices of one node follow each other.
struct UplinkLoad {
  int node = -1;
  double samples = 0.0;
};

}  // namespace

GroupLinks::GroupLinks(const Cluster& cluster) : cluster_(cluster) {
  int node = 0;
  int device = 0;
  for (const NodeGroup& group : cluster.groups) {
    first_node_.push_back(node);
    first_device_.push_back(device);
    node += group.count;
    device += group.count * group.num_devices;
    const bool alone = group.num_devices == 1;
    inside_.push_back(
        alone ? Link{}
              : cluster.path(DeviceId(first_device_.back()), DeviceId(first_device_.back() + 1)));
  }
}

int GroupLinks::group_of_node(int node) const {
  return static_cast<int>(std::upper_bound(first_node_.begin(), first_node_.end(), node) -
                          first_node_.begin()) -
         1;
}

const Link& GroupLinks::between(int group, int other) {
  const auto [place, is_new] = between_.try_emplace({group, other});
  if (is_new) {
    const int behind = group == other ? cluster_.groups[group].num_devices : 0;  // another node of
                                                                                 // the same group
    place->second =
        cluster_.path(DeviceId(first_device_[group]), DeviceId(first_device_[other] + behind));
  }
  return place->second;
}

TransferLoads::TransferLoads(GroupLinks& links, const std::vector<TakenDevices>& sender,
                             const std::vector<TakenDevices>& receiver, std::int64_t micro_batch) {
  UplinkLoad out;
  UplinkLoad in;
  const auto uplink = [&](const UplinkLoad& load) {
    if (load.node >= 0)
      add(load.samples, links.cluster().groups[links.group_of_node(load.node)].uplink);
  };
  const auto pass = [&](UplinkLoad& load, int node, double samples) {
    if (load.node != node) {
      uplink(load);
      load = {node, 0.0};
    }
    load.samples += samples;
  };
  std::int64_t begin = 0;
  for (ReplicaCursor a(sender, micro_batch), b(receiver, micro_batch); !a.done() && !b.done();) {
    const std::int64_t end = std::min(a.end(), b.end());
    const auto samples = static_cast<double>(end - begin);
    const int group = links.group_of_node(a.node());
    if (a.node() == b.node()) {
      add(samples, links.inside(group));
    } else {
      add(samples, links.between(group, links.group_of_node(b.node())));
      pass(out, a.node(), samples);
      pass(in, b.node(), samples);
    }
    begin = end;
    if (a.end() == end) a.next();
    if (b.end() == end) b.next();
  }
  uplink(out);
  uplink(in);
  std::sort(loads_.begin(), loads_.end());
}

void TransferLoads::add(double samples, const Link& link) {
  for (Load& load : loads_) {
    if (load.bandwidth != link.bandwidth || load.latency != link.latency) continue;
    load.samples = std::max(load.samples, samples);
    return;
  }
  loads_.push_back({link.bandwidth, link.latency, samples});
}

double TransferLoads::seconds(double bytes_per_sample) const {
  double slowest = 0.0;
  for (const Load& load : loads_) {
    slowest = std::max(slowest, load.samples * bytes_per_sample / load.bandwidth + load.latency);
  }
  return slowest;
}

}  // namespace pptrain
