#include "schedule/cut_ports.hpp"

#include <map>
#include <tuple>

namespace pptrain {
namespace {

enum class End { out, in, pair };
using PortKey = std::tuple<End, int, int>;  // rank, and the other rank of a pair

}  // namespace

CutPorts::CutPorts(const PipelineShape& shape) {
  std::map<PortKey, int> ports;
  const auto number = [&ports](const PortKey& key) {
    return ports.try_emplace(key, static_cast<int>(ports.size())).first->second;
  };
  const auto add = [&](int from, int to, const CutWay& time, Cut::Port port) {
    PortWay& way = ways_.emplace_back(PortWay{time, {}});
    if (port == Cut::Port::uplink) {
      way.ports = {number({End::out, from, 0}), number({End::in, to, 0})};
    } else {
      way.ports.fill(number({End::pair, from, to}));
    }
  };
  for (int c = 0; c + 1 < shape.num_chunks(); ++c) {
    const Cut cut = shape.cut_after(c);
    add(shape.rank_of(c), shape.rank_of(c + 1), cut.forward, cut.port);
    add(shape.rank_of(c + 1), shape.rank_of(c), cut.backward, cut.port);
  }
  free_.assign(ports.size(), 0.0);
}

}  // namespace pptrain
