#include "program/trace.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/catch.hpp"

namespace pptrain {
namespace {

using nlohmann::json;

TraceEvent event(int device, Lane lane, Op op, double begin, double end) {
  Instruction instruction;
  instruction.op = op;
  return {DeviceId(device), lane, instruction, begin, end};
}

Trace one_task(int device, double begin) {
  return {event(device, Lane::compute, Op::forward, begin, begin + 0.5)};
}

/// What two devices do. Device 3 computes in no order; it has two sends that overlap, one behind
/// them, and one that follows on the first. Device 0 has a task alone.
Trace some_trace() {
  return {event(3, Lane::compute, Op::backward, 0.5, 0.75),
          event(3, Lane::compute, Op::forward, 0.0, 0.5),
          event(3, Lane::communication, Op::send, 0.1, 0.4),
          event(3, Lane::communication, Op::send, 0.2, 0.6),
          event(3, Lane::communication, Op::send, 0.4, 0.5),
          event(3, Lane::communication, Op::send, 0.7, 0.9),
          event(0, Lane::compute, Op::step, 1.0 / 3, 2.0 / 3)};
}

json events_of(const std::string& trace) { return json::parse(trace).at("traceEvents"); }

/// {(process, thread): name} by the metadata of that kind.
std::map<std::pair<int, int>, std::string> names(const json& events, const std::string& kind) {
  std::map<std::pair<int, int>, std::string> result;
  for (const json& e : events) {
    if (e.at("ph") == "M" && e.at("name") == kind)
      result[{e.at("pid"), e.at("tid")}] = e.at("args").at("name");
  }
  return result;
}

TEST_CASE("the traces of ranks are merged into one with all their events") {
  const std::string merged =
      merge_chrome_traces({chrome_trace(one_task(0, 1.0)), chrome_trace(one_task(3, 2.0))});
  std::map<int, double> begins;
  for (const json& e : events_of(merged)) {
    if (e.at("ph") == "X") begins[e.at("pid").get<int>()] = e.at("ts").get<double>();
  }
  CHECK(begins == std::map<int, double>{{0, 1e6}, {3, 2e6}});
}

TEST_CASE("an event of a Chrome trace has all that viewers need, in microseconds") {
  const json events = events_of(chrome_trace(one_task(5, 0.25)));
  const json& task = events.back();
  CHECK(task == json({{"name", "F-1.-1"},
                      {"cat", "compute"},
                      {"ph", "X"},
                      {"pid", 5},
                      {"tid", 0},
                      {"ts", 250000.0},
                      {"dur", 500000.0}}));
  for (const json& e : events) CHECK((e.at("ph") == "X" || e.at("ph") == "M"));
}

TEST_CASE("processes are devices in order, and every thread with an event has a name") {
  const json events = events_of(chrome_trace(some_trace()));
  CHECK(names(events, "process_name") ==
        std::map<std::pair<int, int>, std::string>{{{0, 0}, "device 0"}, {{3, 0}, "device 3"}});
  CHECK(names(events, "thread_name") ==
        std::map<std::pair<int, int>, std::string>{{{0, 0}, "compute"},
                                                   {{0, 1}, "communication"},
                                                   {{3, 0}, "compute"},
                                                   {{3, 1}, "communication"},
                                                   {{3, 2}, "communication 2"}});
  std::set<int> places;
  for (const json& e : events) {
    if (e.at("name") == "process_sort_index")
      places.insert(e.at("args").at("sort_index").get<int>());
  }
  CHECK(places == std::set<int>{0, 3});
}

TEST_CASE("events of a Chrome trace are in order, and none of a thread overlaps another") {
  const json events = events_of(chrome_trace(some_trace()));
  double before = 0.0;
  std::map<std::pair<int, int>, double> ends;
  std::map<std::pair<int, int>, int> counts;
  for (const json& e : events) {
    if (e.at("ph") != "X") continue;
    const std::pair<int, int> thread = {e.at("pid"), e.at("tid")};
    const double begin = e.at("ts");
    CHECK(begin >= before);
    CHECK(begin >= ends[thread]);
    before = begin;
    ends[thread] = begin + e.at("dur").get<double>();
    ++counts[thread];
  }
  CHECK(counts ==
        std::map<std::pair<int, int>, int>{{{0, 0}, 1}, {{3, 0}, 2}, {{3, 1}, 3}, {{3, 2}, 1}});
}

TEST_CASE(
    "times of a Chrome trace are whole nanoseconds, so that neighbours do not overlap by a "
    "rounding") {
  Trace trace;
  for (int i = 0; i < 1000; ++i) {
    trace.push_back(event(0, Lane::compute, Op::forward, i / 7.0, (i + 1) / 7.0));
  }
  double end = 0.0;
  for (const json& e : events_of(chrome_trace(trace))) {
    if (e.at("ph") != "X") continue;
    const double begin = 1e3 * e.at("ts").get<double>();
    CHECK(std::llround(begin) == std::llround(end));
    CHECK(begin == Approx(std::round(begin)).margin(1e-3));
    end = begin + 1e3 * e.at("dur").get<double>();
  }
  CHECK(end == Approx(1000 / 7.0 * 1e9));
}

}  // namespace
}  // namespace pptrain
