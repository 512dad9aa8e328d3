#include "simulate/classes.hpp"

#include <array>
#include <bit>
#include <map>
#include <set>
#include <unordered_map>

#include "simulate/collectives.hpp"

namespace pptrain {
namespace {

using Signature = std::vector<std::int64_t>;

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const noexcept {
    std::size_t hash = signature.size();
    for (const std::int64_t part : signature) {
      hash = (hash ^ static_cast<std::size_t>(part)) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden
                                                                               // ratio
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// Classes of `num` things with equal signatures, which `write` appends to an empty one.
template <class WriteSignature>
Partition partition(std::size_t num, const WriteSignature& write) {
  Partition made;
  std::unordered_map<Signature, int, SignatureHash> known;
  Signature signature;
  for (std::size_t i = 0; i < num; ++i) {
    signature.clear();
    write(static_cast<int>(i), signature);
    const auto [entry, is_new] = known.try_emplace(signature, made.num());
    if (is_new) made.first.push_back(static_cast<int>(i));
    made.of.push_back(entry->second);
  }
  return made;
}

void add(Signature& signature, double value) {
  signature.push_back(std::bit_cast<std::int64_t>(value));
}

/// Collectives of a chunk.
std::array<int, 3> groups_of(const ChunkPrice& price) {
  return {price.reduce_group, price.across_group, price.gather_group};
}

void add(Signature& signature, const ChunkBytes::Works& works) {
  for (const double bytes :
       {works.forward, works.backward_input, works.backward.first, works.backward.rest,
        works.backward_weight.first, works.backward_weight.rest, works.offloaded_forward.first,
        works.offloaded_forward.last, works.offloaded_backward_input.first,
        works.offloaded_backward_input.last, works.offloaded_backward.first,
        works.offloaded_backward.last}) {
    add(signature, bytes);
  }
}

void add(Signature& signature, const ChunkPrice& price) {
  for (const TaskPrice& task : price.tasks) {
    for (const double seconds : {task.seconds, task.busy, task.communication, task.first_gather,
                                 task.last_layer, price.published_end}) {
      add(signature, seconds);
    }
  }
  const ChunkBytes& held = price.bytes;
  for (const double bytes : {held.stored, held.deferred, held.carried, held.summed, held.offloaded,
                             price.handed_bytes[0], price.handed_bytes[1], price.gathered_bytes}) {
    add(signature, bytes);
  }
  for (const ChunkBytes::Works& works : held.works) add(signature, works);
  for (const int group : groups_of(price)) signature.push_back(group < 0);
  signature.insert(signature.end(), {price.task_group < 0, price.num_layers, price.gathers_layers});
}

/// All but the peer and the place of the interval.
void add(Signature& signature, const Instruction& instruction) {
  signature.insert(signature.end(), {static_cast<std::int64_t>(instruction.op),
                                     instruction.is_tied() ? instruction.tie().receiving_end
                                                           : instruction.chunk().value,
                                     static_cast<std::int64_t>(instruction.payload),
                                     instruction.interval.size(), instruction.units});
}

}  // namespace

ProgramClasses::ProgramClasses(const Cluster& cluster, const Programs& sample, const Prices& prices,
                               ReceivedGathers& gathers, ReplicaShift shift)
    : shift_(std::move(shift)) {
  find_ways(cluster, sample);
  find_groups(sample, gathers);
  find_collectives(prices.reductions());
  start(sample, prices);
  while (refine(prices, gathers)) {
  }
}

int ProgramClasses::link(const Uplink& uplink) {
  const auto [entry, is_new] = link_index_.try_emplace(
      {shift_.first_owner(uplink.owner), uplink.direction}, static_cast<int>(links_.size()));
  if (is_new) links_.push_back({uplink.link.bandwidth, {}, {}});
  return entry->second;
}

/// The way taken back to where it begins at a representative.
std::pair<int, int> ProgramClasses::way_key(DeviceId from, DeviceId to) const {
  const int turns = shift_.turns_to(from);
  return {shift_.before(from, turns).value, shift_.before(to, turns).value};
}

int ProgramClasses::way_class(DeviceId from, DeviceId to) const {
  return way_classes_.of[way_index_.at(way_key(from, to))];
}

void ProgramClasses::find_ways(const Cluster& cluster, const Programs& sample) {
  const auto way = [&](DeviceId from, DeviceId to) {
    const auto [entry, is_new] =
        way_index_.try_emplace(way_key(from, to), static_cast<int>(ways_.size()));
    if (!is_new) return entry->second;
    Way& made = ways_.emplace_back(Way{shift_.representative_of(from),
                                       shift_.representative_of(to),
                                       cluster.path(from, to),
                                       {},
                                       {}});
    for (const Uplink& uplink : cluster.uplinks(from, to)) {
      made.links.push_back(link(uplink));
      links_[made.links.back()].uses.push_back(
          {entry->second, shift_.turns() / shift_.num_owners(uplink.owner)});
    }
    return entry->second;
  };
  for (const Program& program : sample) {
    std::vector<int>& own = ways_of_.emplace_back();
    for (const Instruction& instruction : program.instructions) {
      if (instruction.op == Op::wait_receive) own.push_back(way(instruction.peer, program.device));
      if (instruction.op != Op::send) continue;
      own.push_back(way(program.device, instruction.peer));
      add(ways_[own.back()].sent, instruction);
    }
  }
}

void ProgramClasses::find_groups(const Programs& sample, ReceivedGathers& gathers) {
  for (std::size_t p = 0; p < sample.size(); ++p) {
    std::vector<ChunkId>& chunks = chunks_.emplace_back();
    std::vector<int>& own = gathers_of_.emplace_back();
    for (const Instruction& instruction : sample[p].instructions) {
      if (instruction.op == Op::forward) chunks.push_back(instruction.chunk());
      if (instruction.op != Op::gather_received) continue;
      own.push_back(gathers.number_of(static_cast<int>(p), instruction.payload));
      gathers.of(static_cast<int>(p), instruction.payload);  // finds the link
    }
  }
}

void ProgramClasses::find_collectives(const std::vector<PricedCollective>& collectives) {
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    std::vector<int>& own = links_of_.emplace_back();
    for (const UplinkBytes& passed : collectives[c].uplinks) {
      const int number = link(passed.uplink);
      std::vector<WayLink::CollectiveUse>& uses = links_[number].collectives;
      const double bytes =
          passed.bytes * collectives[c].stands_for / shift_.num_owners(passed.uplink.owner);
      if (std::find(own.begin(), own.end(), number) == own.end()) {
        own.push_back(number);
        uses.push_back({static_cast<int>(c), bytes});
      } else {
        uses.back().bytes += bytes;
      }
    }
  }
}

void ProgramClasses::start(const Programs& sample, const Prices& prices) {
  classes_.programs = partition(sample.size(), [&](int p, Signature& signature) {
    signature.push_back(sample[p].stage.value);
    Interval before;
    for (const Instruction& instruction : sample[p].instructions) {
      add(signature, instruction);
      signature.push_back(instruction.interval == before);
      before = instruction.interval;
    }
    for (const ChunkId chunk : chunks_[p]) add(signature, prices.of(p, chunk));
    add(signature, prices.step_seconds(p));
    add(signature, prices.step_bytes(p));
    add(signature, prices.fixed_bytes(p));
    add(signature, prices.gathered_gradient_bytes(p));
    signature.push_back(prices.counts_buffers(p));
  });
  way_classes_ = partition(ways_.size(), [&](int w, Signature& signature) {
    signature = ways_[w].sent;
    add(signature, ways_[w].path.bandwidth);
    add(signature, ways_[w].path.latency);
  });
  link_classes_ = partition(
      links_.size(), [&](int l, Signature& signature) { add(signature, links_[l].bandwidth); });
}

/// Whether any class was divided.
bool ProgramClasses::refine(const Prices& prices, const ReceivedGathers& gathers) {
  refine_groups(prices, gathers);
  const int before = programs().num() + way_classes_.num() + link_classes_.num();
  Partition links = partition(links_.size(), [&](int l, Signature& signature) {
    for (const WayLink::Use& use : links_[l].uses) {
      signature.insert(signature.end(), static_cast<std::size_t>(use.ways),
                       way_classes_.of[use.way]);
    }
    std::sort(signature.begin(), signature.end());
    signature.push_back(link_classes_.of[l]);
    add_signature(signature, links_[l]);
  });
  Partition ways = partition(ways_.size(), [&](int w, Signature& signature) {
    signature.insert(signature.end(), {way_classes_.of[w], programs().of[ways_[w].from],
                                       programs().of[ways_[w].to]});
    for (const int l : ways_[w].links) signature.push_back(link_classes_.of[l]);
  });
  Partition all = partition(programs().of.size(), [&](int p, Signature& signature) {
    add_signature(signature, p, prices);
  });
  link_classes_ = std::move(links);
  way_classes_ = std::move(ways);
  classes_.programs = std::move(all);
  return programs().num() + way_classes_.num() + link_classes_.num() > before;
}

void ProgramClasses::refine_groups(const Prices& prices, const ReceivedGathers& gathers) {
  const auto& collectives = prices.reductions();
  std::vector<std::vector<int>> on_lane(static_cast<std::size_t>(prices.num_lanes()));
  for (std::size_t c = 0; c < collectives.size(); ++c)
    on_lane[collectives[c].lane].push_back(static_cast<int>(c));
  classes_.task_groups = partition(prices.task_groups().size(), [&](int g, Signature& signature) {
    for (const int p : prices.task_groups()[g]) signature.push_back(programs().of[p]);
  });
  classes_.received_gathers =
      partition(static_cast<std::size_t>(gathers.num_groups()), [&](int g, Signature& signature) {
        for (const int p : gathers.group(g).programs) signature.push_back(programs().of[p]);
        const Link link = gathers.group(g).link.value_or(Link{});
        add(signature, link.bandwidth);
        add(signature, link.latency);
      });
  classes_.collectives = partition(collectives.size(), [&](int c, Signature& signature) {
    const PricedCollective& what = collectives[c];
    const std::vector<int> members = programs().classes_of(what.programs);
    signature.assign(members.begin(), members.end());
    signature.insert(signature.end(), {static_cast<std::int64_t>(what.kind), what.chunk.value,
                                       what.after_each_task, what.at_end});
    add(signature, what.seconds);
    add(signature, what.buffer_bytes);
    add(signature, what.bucket_bytes);
    std::set<int> links;
    for (const int l : links_of_[c]) links.insert(link_classes_.of[l]);
    signature.insert(signature.end(), links.begin(), links.end());
  });
  classes_.lanes = partition(on_lane.size(), [&](int lane, Signature& signature) {
    for (const int c : on_lane[lane]) signature.push_back(classes_.collectives.of[c]);
  });
}

void ProgramClasses::add_signature(Signature& signature, int program, const Prices& prices) const {
  signature.push_back(programs().of[program]);
  for (const int w : ways_of_[program]) signature.push_back(way_classes_.of[w]);
  for (const int g : gathers_of_[program]) signature.push_back(classes_.received_gathers.of[g]);
  for (const ChunkId chunk : chunks_[program]) {
    const ChunkPrice& price = prices.of(program, chunk);
    if (price.task_group >= 0) signature.push_back(classes_.task_groups.of[price.task_group]);
    for (const int group : groups_of(price)) {
      if (group < 0) continue;
      signature.push_back(classes_.collectives.of[group]);
      signature.push_back(classes_.lanes.of[prices.reductions()[group].lane]);
    }
  }
}

/// The bytes of collectives of each class.
void ProgramClasses::add_signature(Signature& signature, const WayLink& link) const {
  std::map<int, double> bytes;
  for (const WayLink::CollectiveUse& use : link.collectives) {
    bytes[classes_.collectives.of[use.collective]] += use.bytes;
  }
  for (const auto& [type, passing] : bytes) {
    signature.push_back(type);
    add(signature, passing);
  }
}

/// Bytes of all collectives of a class that pass a link.
double ProgramClasses::bytes_of_collectives(int type, int link) const {
  double bytes = 0.0;
  for (const WayLink::CollectiveUse& use : links_[link].collectives) {
    bytes += classes_.collectives.of[use.collective] == type ? use.bytes : 0.0;
  }
  return bytes;
}

ProgramClasses::Routes ProgramClasses::add_routes(const Prices& prices, Network& network) const {
  std::vector<int> links;
  Routes routes;
  for (const int l : link_classes_.first) links.push_back(network.add_link(links_[l].bandwidth));
  for (int type = 0; type < way_classes_.num(); ++type) {
    const Way& way = ways_[way_classes_.first[type]];
    std::vector<Network::LinkUse> uses;
    for (const int l : way.links) {
      const auto known = [&](const Network::LinkUse& use) {
        return use.link == links[link_classes_.of[l]];
      };
      if (std::any_of(uses.begin(), uses.end(), known)) continue;
      double flows = 0.0;
      for (const WayLink::Use& use : links_[l].uses)
        flows += way_classes_.of[use.way] == type ? use.ways : 0.0;
      uses.push_back({links[link_classes_.of[l]], flows});
    }
    routes.of_ways.push_back(network.add_route(way.path, std::move(uses)));
  }
  for (int type = 0; type < classes_.collectives.num(); ++type) {
    const PricedCollective& collective = prices.reductions()[type];
    std::map<int, double> bytes;  // by class of links
    for (const int l : links_of_[classes_.collectives.first[type]]) {
      bytes[link_classes_.of[l]] = bytes_of_collectives(type, l);
    }
    std::vector<Network::LinkUse> uses;
    for (const auto& [link, passing] : bytes) uses.push_back({links[link], passing});
    routes.of_collectives.push_back(
        uses.empty() ? -1 : add_collective_route(network, collective, std::move(uses)));
  }
  return routes;
}

}  // namespace pptrain
