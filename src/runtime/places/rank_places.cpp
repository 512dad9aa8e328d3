#include "runtime/places/rank_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text_table.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "io/keys.hpp"
#include "probe/host.hpp"

namespace pptrain {
namespace {

/// Ranks [begin, end) with one host, socket, kind of device and stage, one after another.
struct Stretch {
  std::size_t begin;
  std::size_t end;
};

bool same_stage(const RankPlace& a, const RankPlace& b) {
  if (a.role.has_value() != b.role.has_value()) return false;
  return !a.role || a.role->stage == b.role->stage;
}

std::vector<Stretch> stretches(const std::vector<RankPlace>& places, const Cluster& cluster) {
  std::vector<Stretch> result;
  for (std::size_t r = 0; r < places.size(); ++r) {
    const bool goes_on =
        r > 0 && places[r].host == places[r - 1].host && places[r].socket == places[r - 1].socket &&
        places[r].device.value == places[r - 1].device.value + 1 &&
        cluster.kind_index_of(places[r].device) == cluster.kind_index_of(places[r - 1].device) &&
        same_stage(places[r - 1], places[r]);
    if (!goes_on) result.push_back({r, r});
    result.back().end = r + 1;
  }
  return result;
}

/// The different numbers of a stretch, "0-3".
template <class Number>
std::string numbers_of(const std::vector<RankPlace>& places, const Stretch& stretch,
                       const Number& number) {
  std::set<int> numbers;
  for (std::size_t r = stretch.begin; r < stretch.end; ++r) numbers.insert(number(places[r]));
  return ranges({numbers.begin(), numbers.end()});
}

bool knows_sockets(const std::vector<RankPlace>& places) {
  return std::any_of(places.begin(), places.end(),
                     [](const RankPlace& place) { return place.socket.has_value(); });
}

std::vector<std::string> row_of(const std::vector<RankPlace>& places, const Stretch& stretch,
                                const Cluster& cluster) {
  const RankPlace& first = places[stretch.begin];
  std::vector<int> ranks;
  for (std::size_t r = stretch.begin; r < stretch.end; ++r) ranks.push_back(static_cast<int>(r));
  const std::string devices =
      numbers_of(places, stretch, [](const RankPlace& place) { return place.device.value; });
  std::vector<std::string> row = {ranges(ranks), first.host};
  if (knows_sockets(places)) row.push_back(first.socket ? fmt::format("{}", *first.socket) : "any");
  row.push_back(fmt::format("{} ({})", devices, cluster.kind_of(first.device).name));
  if (!first.role) {
    row.emplace_back("idle");
    return row;
  }
  row.push_back(fmt::format("{}", first.role->stage.value));
  row.push_back(
      numbers_of(places, stretch, [](const RankPlace& place) { return place.role->replica; }));
  row.push_back(
      numbers_of(places, stretch, [](const RankPlace& place) { return place.role->shard; }));
  return row;
}

}  // namespace

std::vector<RankPlace> rank_places(MPI_Comm world, Waiter& waiter, const RankMap& map,
                                   const Plan& plan) {
  std::vector<RankPlace> places;
  for (const std::string& report : gather(world, to_json(report_host()), waiter)) {
    const HostReport host = host_report_from_json(report);
    const DeviceId device = map.device_of(RankId(static_cast<int>(places.size())));
    places.push_back({host.name, device, role_of(plan, device), host.socket});
  }
  return places;
}

std::string describe_places(const std::vector<RankPlace>& places, const Cluster& cluster) {
  Rows rows = {{"rank", "host", "device", "stage", "replica", "shard"}};
  if (knows_sockets(places)) rows.front().insert(rows.front().begin() + 2, "socket");
  for (const Stretch& stretch : stretches(places, cluster))
    rows.push_back(row_of(places, stretch, cluster));
  return "ranks\n" + align(rows);
}

std::string places_to_json(const std::vector<RankPlace>& places, const Cluster& cluster) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const std::vector<std::string> names = io_keys::placement.names();
  const std::set<std::string> described(names.begin(), names.end());
  for (std::size_t r = 0; r < places.size(); ++r) {
    const RankPlace& place = places[r];
    nlohmann::ordered_json entry = {{"rank", r},
                                    {"host", place.host},
                                    {"device", place.device.value},
                                    {"kind", cluster.kind_of(place.device).name}};
    if (place.socket) entry["socket"] = *place.socket;
    if (place.role) {
      entry["stage"] = place.role->stage.value;
      entry["replica"] = place.role->replica;
      entry["shard"] = place.role->shard;
    }
    for (const auto& [name, value] : entry.items()) {
      PPTRAIN_ASSERT(described.contains(name), "{} of placement.json is not described", name);
    }
    list.push_back(entry);
  }
  return list.dump(1) + "\n";
}

}  // namespace pptrain
