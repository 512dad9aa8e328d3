#include "s4u_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <utility>

#include "program/check.hpp"
#include "schedule/schedule.hpp"
#include "simulate/prices.hpp"

namespace pptrain {
namespace {

namespace s4u = simgrid::s4u;

/// Messages from one device to another, sent one after another.
struct Stream {
  struct Message {
    std::string mailbox;
    std::uint64_t bytes;
  };
  std::deque<Message> waiting;
  s4u::SemaphorePtr posted = s4u::Semaphore::create(0);

  void send_all() {
    char payload = 0;
    for (;;) {
      posted->acquire();
      const Message message = waiting.front();
      waiting.pop_front();
      s4u::Mailbox::by_name(message.mailbox)->put(&payload, message.bytes);
    }
  }
};

/// One case: its part of the platform and its actors.
class Model {
 public:
  Model(const SimulationCase& what, s4u::NetZone& zone)
      : case_(what), programs_(programs_of(what)), places_(chunk_places(what.plan)), zone_(zone) {
    for (const Program& program : programs_)
      hosts_[program.device.value] = zone_.create_host(named(program.device), 1.0);
    for (const Program& program : programs_) {
      for (const Instruction& instruction : program.instructions) {
        if (instruction.op == Op::send) connect(program.device, instruction.peer);
      }
    }
  }

  void start() {
    for (const Program& program : programs_) {
      s4u::Actor::create(named(program.device), hosts_.at(program.device.value),
                         [this, &program] { run(program); });
    }
    for (auto& [ends, stream] : streams_) {
      s4u::Actor::create(fmt::format("{} stream {}", case_.name, ends.second),
                         hosts_.at(ends.first), [&way = *stream] { way.send_all(); })
          ->daemonize();
    }
  }

  double makespan() const { return makespan_; }

 private:
  std::string named(DeviceId device) const {
    return fmt::format("{} device {}", case_.name, device.value);
  }

  std::string mailbox(DeviceId from, DeviceId to, const Instruction& what) const {
    return fmt::format("{} {} to {}: {} {}.{} from {}", case_.name, from.value, to.value,
                       what.payload == Payload::activation ? "activation" : "gradient",
                       what.chunk().value, what.micro_batch().value, what.interval.begin);
  }

  s4u::Link* uplink(const Uplink& which) {
    const auto [entry, is_new] = uplinks_.try_emplace({which.owner, which.direction}, nullptr);
    if (is_new) {
      const std::string name = fmt::format("{} uplink {}", case_.name, uplinks_.size());
      entry->second = zone_.create_link(name, which.link.bandwidth)->set_latency(0.0)->seal();
    }
    return entry->second;
  }

  void connect(DeviceId from, DeviceId to) {
    const auto [entry, is_new] = streams_.try_emplace({from.value, to.value}, nullptr);
    if (!is_new) return;
    entry->second = std::make_unique<Stream>();
    const Link path = case_.cluster.path(from, to);
    const std::string name = fmt::format("{} {} to {}", case_.name, from.value, to.value);
    std::vector<s4u::LinkInRoute> route;
    route.emplace_back(zone_.create_link(name, path.bandwidth)->set_latency(path.latency)->seal());
    for (const Uplink& which : case_.cluster.uplinks(from, to)) route.emplace_back(uplink(which));
    zone_.add_route(hosts_.at(from.value)->get_netpoint(), hosts_.at(to.value)->get_netpoint(),
                    nullptr, nullptr, route, false);
  }

  void run(const Program& program) {
    std::map<std::string, s4u::CommPtr> receives;
    std::deque<char*> payloads;
    for (const Instruction& instruction : program.instructions) {
      if (instruction.op != Op::wait_receive) continue;
      const std::string name = mailbox(instruction.peer, program.device, instruction);
      receives[name] = s4u::Mailbox::by_name(name)->get_async<char>(&payloads.emplace_back());
    }
    for (const Instruction& instruction : program.instructions) {
      if (const double seconds = task_seconds(program, instruction); seconds > 0.0)
        s4u::this_actor::execute(seconds);
      if (instruction.op == Op::send) send(program, instruction);
      if (instruction.op == Op::wait_receive) {
        receives.at(mailbox(instruction.peer, program.device, instruction))->wait();
      }
    }
    makespan_ = std::max(makespan_, s4u::Engine::get_clock());
  }

  void send(const Program& program, const Instruction& instruction) {
    Stream& stream = *streams_.at({program.device.value, instruction.peer.value});
    const std::size_t last = places_[instruction.chunk().index()].layers.end - 1;
    const double bytes =
        static_cast<double>(instruction.interval.size()) * case_.profile.layers[last].output_bytes;
    stream.waiting.push_back({mailbox(program.device, instruction.peer, instruction),
                              static_cast<std::uint64_t>(std::llround(bytes))});
    stream.posted->release();
  }

  /// 0 of instructions that are no tasks.
  double task_seconds(const Program& program, const Instruction& instruction) const {
    if (!is_task(instruction.op)) return 0.0;
    const std::string& kind = case_.cluster.kind_of(program.device).name;
    double seconds = 0.0;
    const Interval layers = places_[instruction.chunk().index()].layers;
    for (std::int64_t l = layers.begin; l < layers.end; ++l) {
      for (const ProfileRow& row : case_.profile.layers[l].rows) {
        if (row.device == kind) seconds += of_op(row.seconds, instruction.op);
      }
    }
    const Stage& stage = case_.plan.stages[program.stage.index()];
    return seconds * static_cast<double>(stage.samples[program.replica].size());
  }

  static double of_op(const LayerSeconds& seconds, Op op) {
    switch (op) {
      case Op::forward: return seconds.forward;
      case Op::backward_input: return seconds.backward_input;
      case Op::backward_weight: return seconds.backward_weight;
      case Op::backward: return seconds.backward_input + seconds.backward_weight;
      default: return 0.0;
    }
  }

  const SimulationCase& case_;
  Programs programs_;
  std::vector<ChunkPlace> places_;
  s4u::NetZone& zone_;
  std::map<int, s4u::Host*> hosts_;                                  // by device
  std::map<std::pair<int, Uplink::Direction>, s4u::Link*> uplinks_;  // by owner
  std::map<std::pair<int, int>, std::unique_ptr<Stream>> streams_;   // by devices
  double makespan_ = 0.0;
};

}  // namespace

Programs programs_of(const SimulationCase& what) {
  Programs programs = compile_training(what.plan, task_orders(what.plan), {});
  check_programs(what.plan, programs);
  return programs;
}

std::vector<double> simgrid_makespans(const std::vector<SimulationCase>& cases) {
  char name[] = "simgrid";
  char quiet[] = "--log=xbt_cfg.threshold:warning";  // it would tell every setting
  char* arguments[] = {name, quiet, nullptr};
  int num_arguments = 2;
  s4u::Engine engine(&num_arguments, arguments);
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:no",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0"}) {
    s4u::Engine::set_config(setting);
  }
  s4u::NetZone& zone = *s4u::create_full_zone("all");
  std::vector<std::unique_ptr<Model>> models;
  for (const SimulationCase& what : cases) models.push_back(std::make_unique<Model>(what, zone));
  zone.seal();
  for (const auto& model : models) model->start();
  engine.run();
  std::vector<double> makespans;
  for (const auto& model : models) makespans.push_back(model->makespan());
  return makespans;
}

}  // namespace pptrain
