#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "program/trace.hpp"

namespace pptrain {

/// What a device does for a while.
struct TimelineTask {
  enum class Kind { forward, backward, backward_weight, step, communication };
  Kind kind = Kind::forward;
  int chunk = -1;        ///< of tasks of the pipeline
  int micro_batch = -1;  ///< of tasks of the pipeline
  double begin = 0.0;    ///< seconds since the iteration began
  double end = 0.0;
};

/// One iteration of all devices of a plan, or of every n-th where there would be too much to draw.
struct Timeline {
  struct Row {
    DeviceId device;
    std::vector<TimelineTask> tasks;  ///< by begin; those of the communication lane last
    int alike = 1;                    ///< devices that it stands for
  };
  double seconds = 0.0;  ///< of the iteration
  std::vector<Row> rows;
  int num_devices = 0;  ///< of the plan
};

/// Rows of what the simulator recorded, in the order of `devices`; those with nothing recorded stay
/// empty.
Timeline timeline_of(const Trace& trace, const std::vector<DeviceId>& devices);
/// Rows of what trace.json has. What is no event of a Chrome trace is passed over.
Timeline timeline_of(const nlohmann::json& chrome_trace, const std::vector<DeviceId>& devices);

/// Rows of devices that do the same at the same time, as it is drawn, become one: the first of
/// them.
void join_alike(Timeline& timeline);

/// At most so many tasks of both: every n-th row of each, the same ones. `most` is a matter of what
/// can be drawn.
void thin(Timeline& predicted, Timeline& measured, std::size_t most);

/// Rows with device, `alike` and tasks: [kind, chunk, micro-batch, begin, length], seconds as
/// integers of a hundred-thousandth of the iteration.
nlohmann::json to_json(const Timeline& timeline);

}  // namespace pptrain
