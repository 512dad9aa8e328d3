#include "simulate/keys.hpp"

namespace pptrain::simulation_keys {
namespace {

const std::string seconds = "seconds";

}  // namespace

const KeyTable root = {
    "the document",
    "",
    {{"schema", "`\"pptrain.simulation/1\"`", "", "What the document is."},
     {"makespan_seconds", seconds, "", "Time of a step."},
     {"estimates", "object: seconds", "", "The same by each closed form: `amp`, `dapple`."},
     {"lower_bound_seconds", seconds, "", "No plan for the same job is faster."},
     {"bubble_fraction", "number", "", "1 - time in which devices compute / (devices x makespan)."},
     {"ranks", "array of objects", "", "Each device of the plan, in the order of its stages."}}};

const KeyTable rank = {
    "ranks[]",
    "",
    {{"device", "integer", "", "Number of the device in the cluster file."},
     {"busy_seconds", seconds, "", "Time in which it computes."},
     {"communication_seconds", seconds, "",
      "Time in which it waits for data under way, or takes part in collectives."},
     {"idle_seconds", seconds, "", "The rest of the makespan."},
     {"first_start_seconds", seconds, "", "When its first task begins."},
     {"last_end_seconds", seconds, "", "When its last task ends."},
     {"peak_bytes", "bytes", "", "Most memory in use."},
     {"peak_stored", "integer", "",
      "Most activations stored: pairs of chunk and micro-batch between F and W."},
     {"order", "array of texts", "",
      "Its tasks: `F`, `B` or `W`, number of the chunk, `.`, number of the micro-batch."}}};

std::vector<KeyTable> all() { return {root, rank}; }

}  // namespace pptrain::simulation_keys
