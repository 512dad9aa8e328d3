#include "runtime/places/named_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/text_table.hpp"

namespace pptrain {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

/// An address has no domain.
bool is_address(const std::string& name) {
  return name.find(':') != std::string::npos ||
         name.find_first_not_of("0123456789.") == std::string::npos;
}

/// Devices of nodes and ranks that belong together.
struct Match {
  std::string host;  ///< as the ranks call it; "" of nodes without a name
  std::vector<int> nodes;
  std::vector<DeviceId> devices;
  std::vector<int> ranks;
};

std::string name_of_node(const Cluster& cluster, int node) {
  int first = 0;
  for (const NodeGroup& group : cluster.groups) {
    if (node < first + group.count)
      return group.hosts.empty() ? "" : group.hosts[static_cast<std::size_t>(node - first)];
    first += group.count;
  }
  return "";
}

std::string join_ranks(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", ranges(ranks));
}

[[noreturn]] void refuse_host(const std::string& file, const std::string& host,
                              const std::vector<int>& ranks) {
  throw_bad_input({file,
                   fmt::format("{} run{} on {}, which is no host of it", join_ranks(ranks),
                               ranks.size() == 1 ? "s" : "", host),
                   "its nodes have host names",
                   "start the ranks on its hosts, or correct or leave out hosts = [...]"});
}

void check_counts(const std::string& file, const Match& match) {
  if (match.ranks.size() == match.devices.size()) return;
  const bool none = match.ranks.empty();
  throw_bad_input(
      {file,
       fmt::format("{} device{} of {} for {}", match.devices.size(),
                   match.devices.size() == 1 ? "" : "s", match.host,
                   none ? "no rank" : join_ranks(match.ranks)),
       "every rank drives a device of the host that it runs on",
       fmt::format("start {} there", match.devices.size() == 1
                                         ? "one rank"
                                         : fmt::format("{} ranks", match.devices.size()))});
}

/// One match for each host that the file names, and the last one of all nodes without a name.
std::vector<Match> nodes_by_host(const Cluster& cluster) {
  std::vector<Match> matches;
  Match unnamed;
  for (int node = 0; node < cluster.num_nodes(); ++node) {
    const std::string name = name_of_node(cluster, node);
    auto found = std::find_if(matches.begin(), matches.end(),
                              [&](const Match& match) { return is_same_host(match.host, name); });
    if (!name.empty() && found == matches.end())
      found = matches.insert(found, Match{name, {}, {}, {}});
    Match& match = name.empty() ? unnamed : *found;
    match.nodes.push_back(node);
    for (const DeviceId device : cluster.devices_of_node(node)) match.devices.push_back(device);
  }
  matches.push_back(std::move(unnamed));
  return matches;
}

/// The ranks in their order, but those that share memory one after another.
std::vector<int> ranks_in_order(const std::vector<RankHost>& ranks) {
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tie(ranks[static_cast<std::size_t>(a)].leader, a) <
           std::tie(ranks[static_cast<std::size_t>(b)].leader, b);
  });
  return order;
}

void deal_ranks(const std::vector<RankHost>& ranks, const std::string& file,
                std::vector<Match>& matches) {
  Match& unnamed = matches.back();
  for (const int rank : ranks_in_order(ranks)) {
    const std::string& host = ranks[static_cast<std::size_t>(rank)].host.name;
    const auto found = std::find_if(matches.begin(), matches.end() - 1, [&](const Match& match) {
      return is_same_host(match.host, host);
    });
    (found == matches.end() - 1 ? unnamed : *found).ranks.push_back(rank);
  }
  if (unnamed.devices.empty() && !unnamed.ranks.empty()) {
    const std::string& host = ranks[static_cast<std::size_t>(unnamed.ranks.front())].host.name;
    std::vector<int> there;
    for (const int rank : unnamed.ranks) {
      if (ranks[static_cast<std::size_t>(rank)].host.name == host) there.push_back(rank);
    }
    refuse_host(file, host, there);
  }
  for (auto match = matches.begin(); match != matches.end() - 1; ++match)
    check_counts(file, *match);
  // As many ranks as devices are left, in the order of the ranks, as if no node had a name.
  std::sort(unnamed.ranks.begin(), unnamed.ranks.end());
}

/// For each node without a name the hosts of the ranks that drive its devices.
std::vector<std::string> taken(const Cluster& cluster, const std::vector<RankHost>& ranks,
                               const Match& unnamed) {
  std::vector<std::string> texts;
  std::size_t next = 0;
  std::vector<std::string> all_hosts;
  for (const int node : unnamed.nodes) {
    std::vector<std::string> hosts;
    for (std::size_t d = 0; d < cluster.devices_of_node(node).size(); ++d) {
      const std::string& host = ranks[static_cast<std::size_t>(unnamed.ranks[next++])].host.name;
      if (hosts.empty() || hosts.back() != host) hosts.push_back(host);
    }
    texts.push_back(fmt::format("node {} ({}) for {}", node, cluster.group_of_node(node).kind,
                                join(hosts, " and ")));
    all_hosts.insert(all_hosts.end(), hosts.begin(), hosts.end());
  }
  if (texts.size() == 1 && all_hosts.size() == 1) texts.clear();
  return texts;
}

}  // namespace

bool is_same_host(const std::string& a, const std::string& b) {
  const std::string one = lower_case(a);
  const std::string other = lower_case(b);
  if (one == other) return true;
  if (is_address(one) || is_address(other)) return false;
  const auto without_domain = [](const std::string& name) {
    return name.substr(0, name.find('.'));
  };
  return one == without_domain(other) || other == without_domain(one);
}

RanksOfDevices match_hosts(const Cluster& cluster, const std::vector<RankHost>& ranks,
                           const std::string& file) {
  std::vector<Match> matches = nodes_by_host(cluster);
  deal_ranks(ranks, file, matches);
  RanksOfDevices result;
  result.rank_of_device.resize(static_cast<std::size_t>(cluster.num_devices()));
  for (const Match& match : matches) {
    for (std::size_t d = 0; d < match.devices.size(); ++d) {
      result.rank_of_device[match.devices[d].index()] = RankId(match.ranks[d]);
    }
  }
  result.taken = taken(cluster, ranks, matches.back());
  return result;
}

std::string describe_taken(const std::vector<std::string>& taken, const std::string& file) {
  constexpr std::ptrdiff_t most = 8;
  const auto count = static_cast<std::ptrdiff_t>(taken.size());
  const std::vector<std::string> first(taken.begin(), taken.begin() + std::min(most, count));
  const std::string more = count > most ? fmt::format(" and {} more", count - most) : "";
  return format_complaint({file, fmt::format("taking {}{}", join(first), more),
                           "these nodes have no host names",
                           "write hosts = [...] in [[node]] where that is not so"});
}

}  // namespace pptrain
