#include "profile/keys.hpp"

namespace pptrain::profile_keys {
namespace {

const std::string bytes = "bytes";
const std::string seconds = "seconds";
const std::string parts_of_backward = "\"backward\" is there instead";
const std::string not_measured = "not measured";

}  // namespace

const KeyTable root = {
    "the document",
    "",
    {{"schema", "`\"pptrain.profile/1\"`", "", "What the file is."},
     {"model", "text", "", "Name of the model; that of a job has to be the same."},
     {"source", "text", "not said", "Where the figures are from, for people."},
     {"like", "text", "pptrain's own",
      "The framework whose execution the times are of (`[profile] like`)."},
     {"bytes_per_parameter", "object", "", "What a device keeps for each parameter."},
     {"axes", "object: integers, at least 1", "unknown: shards are even",
      "Lengths of the axes along which members of a tensor-parallel group may have unequal shards: "
      "`heads`, `columns`, "
      "`vocabulary`; of a classifier `columns`, `classes`, `inputs`."},
     {"sequence_parallel", "boolean", "false",
      "Whether members of a tensor-parallel group divide what goes from layer to layer along the "
      "sequence."},
     {"context", "integer, at least 1", "1",
      "Replicas that divide the positions of each sample (`[parallelism] context`): a sample of "
      "the rows, and of all "
      "figures per sample, is the share that one of them has."},
     {"error_band", "object", "none",
      "How far predictions of measured runs from such a profile were off."},
     {"communication", "object", "as pptrain communicates",
      "How collectives run in the framework that a computed profile is of (`[profile] like`)."},
     {"layers", "array of objects", "",
      "The chain of layers, from the first to the one with the loss."},
     {"workspace_bytes", bytes, "0",
      "Buffers and workspace that every device needs beside what layers hold."},
     {"workspace_bytes_per_sample", bytes, "0",
      "The same for every sample of a replica's micro-batch."}}};

const KeyTable bytes_per_parameter = {
    "bytes_per_parameter",
    "",
    {{"weight", bytes, "", "Of a weight, copies in another precision included."},
     {"gradient", bytes, "", "Of its gradient."},
     {"optimizer", bytes, "", "Of what the optimizer keeps for it."},
     {"sent_gradient", bytes, "as `gradient`",
      "Of its gradient on the way from replica to replica."}}};

const KeyTable error_band = {
    "error_band",
    "",
    {{"relative", "number", "", "Mean of |predicted / measured - 1| of these runs."},
     {"runs", "integer, at least 1", "", "How many there are."},
     {"of", "text", "", "What they have in common with what is predicted."}}};

const KeyTable communication = {
    "communication",
    "What the simulator takes in place of its own rings; closed forms know nothing of it.",
    {{"link_share", "part", "",
      "What a collective reaches of a link's bandwidth with large messages."},
     {"uplink_share", "part", "", "What it reaches of an uplink's."},
     {"half_bytes", bytes, "", "Of a message that reaches half of that."},
     {"start_seconds", seconds, "", "What every collective takes before data flows."},
     {"shares_uplinks", "`true`, `false`", "",
      "Whether groups with members on the same nodes divide their uplinks."},
     {"hides_sums", "`true`, `false`", "",
      "Whether gradients are summed beside the backward pass."},
     {"beside", "number", "",
      "Part of hidden communication by which the computation beside it takes longer."},
     {"blocking_bandwidth", "bytes per second", "",
      "Of a device's sends between stages on different nodes, for which tasks on both sides wait; "
      "0: sends never "
      "block."},
     {"link_neighbours", "object: integers, at least 1", "a switch reaches all",
      "By kind of device: how many neighbours the links of one reach without a switch."}}};

const KeyTable layer = {
    "layers[]",
    "What is given per sample does not depend on the size of a micro-batch.",
    {{"name", "text", "", "Its name; no other layer has it."},
     {"parameters", "number", "", "How many parameters it has."},
     {"undivided_parameters", "number", "0",
      "How many of them each member of a tensor-parallel group holds."},
     {"output_bytes", "bytes per sample", "", "What crosses to the next layer."},
     {"stored_bytes", "bytes per sample", "", "What is held from the start of F to the end of W."},
     {"tensor_parallel_allreduce_bytes", "bytes per sample", "",
      "What a tensor-parallel group sums in F, and as much in B."},
     {"batch_norms", "number", "0",
      "How many batch norms it has, whose statistics replicas exchange for each micro-batch: "
      "gathered in F, summed in "
      "B."},
     {"batch_norm_channels", "number", "0",
      "How many channels these have together, of 8 bytes each way."},
     {"exchange_bytes", "bytes per sample", "0",
      "What goes to experts and back in F, and as much in B, where each member has samples of its "
      "own."},
     {"repeated", "boolean", "true",
      "Whether full recomputation makes it again; otherwise it keeps what it stores."},
     {"selective_part", "number from 0 to 1", "0",
      "Part of its F that selective recomputation computes again."},
     {"seconds", "array of objects", "",
      "Its times; between two numbers of samples they are interpolated."},
     {"update", "array of objects", "unknown: it takes no time",
      "What the optimizer step over it takes."}}};

const KeyTable row = {
    "layers[].seconds[]",
    "Computation alone of one micro-batch on one replica.",
    {{"device", "text", "", "Kind of device."},
     {"tensor_parallel", "integer, at least 1", "", "Devices that share the layer."},
     {"samples", "number, at least 1", "", "Samples of the micro-batch."},
     {"forward", seconds, "", "F."},
     {"backward_input", seconds, parts_of_backward, "B, the gradient of the input."},
     {"backward_weight", seconds, parts_of_backward, "W, the gradients of the weights."},
     {"backward", seconds, "the two parts are there",
      "Both, where the parts are not known; schedules that run them apart then refuse the "
      "profile."},
     {"stored_bytes", bytes, not_measured,
      "What one device holds from the start of F to the end of B."},
     {"deferred_bytes", bytes, not_measured,
      "What it holds from the end of B to the end of W, where these are apart."},
     {"workspace_bytes", bytes, not_measured,
      "What it needs beyond that, for a moment. All three or none."},
     {"forward_workspace_bytes", bytes, "`workspace_bytes`",
      "The same in F alone; only beside the other three."},
     {"recomputed_bytes", bytes, "0",
      "Of `stored_bytes`, what selective recomputation makes again; only beside these three."}}};

const KeyTable update = {
    "layers[].update[]",
    "",
    {{"device", "text", "", "Kind of device."},
     {"tensor_parallel", "integer, at least 1", "", "Devices that share the layer."},
     {"seconds", seconds, "", "Time of the optimizer step over the layer on one of them."}}};

std::vector<KeyTable> all() {
  return {root, bytes_per_parameter, error_band, communication, layer, row, update};
}

}  // namespace pptrain::profile_keys
