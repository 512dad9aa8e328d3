#include "report/timeline.hpp"

#include "support/catch.hpp"

namespace pptrain {
namespace {

using Kind = TimelineTask::Kind;

TraceEvent event(int device, Lane lane, Op op, int chunk, int micro_batch, double begin,
                 double end) {
  TraceEvent event;
  event.device = DeviceId(device);
  event.lane = lane;
  event.instruction.op = op;
  event.instruction.place = TaskPlace{ChunkId(chunk), MicroBatchId(micro_batch)};
  event.begin = begin;
  event.end = end;
  return event;
}

/// Two devices, all kinds of tasks, not in order of time.
Trace some_trace() {
  return {event(7, Lane::compute, Op::forward, 1, 0, 0.25, 0.5),
          event(3, Lane::communication, Op::wait_receive, 0, 0, 0.5, 0.75),
          event(3, Lane::compute, Op::backward, 0, 2, 1.0, 1.5),
          event(3, Lane::compute, Op::forward, 0, 2, 0.0, 0.25),
          event(7, Lane::compute, Op::backward_weight, 1, 0, 0.75, 1.0),
          event(7, Lane::compute, Op::step, 0, 0, 1.0, 1.125),
          event(9, Lane::compute, Op::forward, 0, 0, 0.0, 9.0)};  // of no device that is asked for
}

const std::vector<DeviceId> devices = {DeviceId(7), DeviceId(3)};

void check_timeline(const Timeline& timeline) {
  CHECK(timeline.seconds == Approx(1.5));
  CHECK(timeline.num_devices == 2);
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.rows[0].device == DeviceId(7));
  const std::vector<TimelineTask>& first = timeline.rows[0].tasks;
  REQUIRE(first.size() == 3);
  CHECK(first[0].kind == Kind::forward);
  CHECK(first[0].chunk == 1);
  CHECK(first[0].micro_batch == 0);
  CHECK(first[0].begin == Approx(0.25));
  CHECK(first[0].end == Approx(0.5));
  CHECK(first[1].kind == Kind::backward_weight);
  CHECK(first[2].kind == Kind::step);
  const std::vector<TimelineTask>& second = timeline.rows[1].tasks;
  REQUIRE(second.size() == 3);
  CHECK(second[0].kind == Kind::forward);
  CHECK(second[0].begin == 0.0);
  CHECK(second[1].kind == Kind::backward);
  CHECK(second[1].micro_batch == 2);
  CHECK(second[2].kind == Kind::communication);  // after the tasks
}

TEST_CASE("a timeline has the tasks of its devices in order", "[report]") {
  check_timeline(timeline_of(some_trace(), devices));
}

TEST_CASE("a Chrome trace gives the timeline of what it was written from", "[report]") {
  check_timeline(timeline_of(nlohmann::json::parse(chrome_trace(some_trace())), devices));
}

TEST_CASE("what is no trace gives an empty timeline", "[report]") {
  const Timeline timeline = timeline_of(nlohmann::json::parse(R"({"other": 1})"), devices);
  CHECK(timeline.seconds == 0.0);
  CHECK(timeline.rows.size() == 2);
}

TEST_CASE("devices that do the same at the same time share a row", "[report]") {
  Trace trace;
  for (int device = 0; device < 4; ++device) {
    trace.push_back(event(device, Lane::compute, Op::forward, 0, 0, 0, 1));
    trace.push_back(event(device, Lane::compute, Op::forward, 0, 1, device % 2 == 0 ? 1 : 2, 3));
  }
  Timeline timeline = timeline_of(trace, {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)});
  join_alike(timeline);
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.rows[0].device == DeviceId(0));
  CHECK(timeline.rows[1].device == DeviceId(1));
  CHECK(timeline.rows[0].alike == 2);
  CHECK(timeline.num_devices == 4);
  CHECK(to_json(timeline)["rows"][1]["alike"] == 2);
}

TEST_CASE("timelines that are too long keep every n-th device, the same ones", "[report]") {
  Trace trace;
  std::vector<DeviceId> many;
  for (int device = 0; device < 8; ++device) {
    many.emplace_back(device);
    for (int m = 0; m < 10; ++m) {
      trace.push_back(event(device, Lane::compute, Op::forward, 0, m, m, m + 1));
    }
  }
  Timeline predicted = timeline_of(trace, many);
  Timeline measured = predicted;
  thin(predicted, measured, 80);
  CHECK(predicted.rows.size() == 8);
  thin(predicted, measured, 40);
  REQUIRE(predicted.rows.size() == 4);
  REQUIRE(measured.rows.size() == 4);
  CHECK(predicted.rows[1].device == DeviceId(2));
  CHECK(measured.rows[3].device == DeviceId(6));
  CHECK(predicted.num_devices == 8);
  CHECK(to_json(predicted)["rows"][1]["tasks"][1] == nlohmann::json({0, 0, 1, 10000, 10000}));
}

}  // namespace
}  // namespace pptrain
