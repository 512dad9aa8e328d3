#include "planners/what_if/sweep_files.hpp"

namespace pptrain::sweep_keys {

const KeyTable root = {
    "the document",
    "",
    {{"schema", "`\"pptrain.sweep/1\"`", "", "What the file is."},
     {"planned", "integer", "", "Searches: points that differ in nothing but prices share one."},
     {"seconds", "seconds", "", "How long planning took."},
     {"currency", "text", "no prices", "Currency of all money."},
     {"axes", "array of objects", "", "What is varied, in the order of `points[].values`."},
     {"points", "array of objects", "", "The combinations of all values, the last axis fastest."},
     {"answers", "array of texts", "",
      "What the points tell of more nodes, nodes left out, ZeRO and pipelines."}}};

const KeyTable axis = {
    "axes[]",
    "",
    {{"kind", "`\"cluster\"`, `\"nodes\"`, `\"batch\"`, `\"setting\"` or `\"price\"`", "",
      "What it is."},
     {"name", "text", "", "Its name in the table."},
     {"key", "text", "", "The key of a setting, or the name of the nodes."},
     {"values", "array of texts", "", "Its values, as they were written."}}};

const KeyTable point = {
    "points[]",
    "A point that no plan fits has `why_not` and no figures.",
    {{"values", "array of texts", "", "The value of each axis."},
     {"cluster", "text", "", "Name of the cluster."},
     {"devices", "integer", "", "Devices of the cluster."},
     {"iteration_seconds", "seconds", "no plan", "Time of a step."},
     {"samples_per_second", "number", "no plan", "Samples of a step over its time."},
     {"tokens_per_second", "number", "not known", "The same in tokens."},
     {"model_flops_utilization", "number", "not known",
      "Part of the peak of the devices that the plan uses."},
     {"devices_used", "integer", "no plan", "Devices that the plan uses."},
     {"nodes_used", "integer", "not known", "Nodes that these are on."},
     {"goodput", "number", "not known", "Part of the time that failures leave."},
     {"money_per_hour", "number", "no prices", "Price of these nodes."},
     {"money_per_step", "number", "no prices", "Price of a step."},
     {"money_per_billion_tokens", "number", "not known", "Price of 10^9 tokens."},
     {"device_hours_per_billion_tokens", "number", "not known",
      "Hours of the devices used for 10^9 tokens."},
     {"watts", "number", "not known", "What these nodes take at full load."},
     {"training_seconds", "seconds", "none", "With `--tokens`: how long the training takes."},
     {"training_node_hours", "number", "none", "The same times the nodes used."},
     {"training_money", "number", "not known", "Its price."},
     {"training_kilowatt_hours", "number", "not known", "Its energy."},
     {"on_front", "true or false", "",
      "Whether no other point takes less time for as little money."},
     {"plan", "text", "no plan", "Degrees of the plan."},
     {"schedule", "text", "no plan", "Its schedule."},
     {"why_not", "text", "a plan", "Why there is none."}}};

std::vector<KeyTable> all() { return {root, axis, point}; }

}  // namespace pptrain::sweep_keys
