#include "cluster/keys.hpp"

namespace pptrain::cluster_keys {
namespace {

const std::string rate = "rate with unit, or FLOP per second";

KeyDescription flop_rate(const std::string& precision) {
  return {precision, rate, "not known", "Highest rate of matrix products in " + precision + "."};
}

}  // namespace

const KeyTable root = {
    "the file",
    "Devices are numbered in file order: all devices of the first node of the first `[[node]]`, "
    "then the next node.",
    {{"name", "text", "\"cluster\"", "Name of the cluster, as plans made for it say."},
     {"emulate", "`\"no\"`, `\"numbers\"` or `\"timing\"`", "\"no\"",
      "Whether ranks play the devices of the file: they compute and then wait as long as the "
      "device would take, or "
      "wait "
      "only, without tensors."},
     {"currency", "text of three capital letters", "none", "Currency of all prices: \"USD\"."},
     {"storage_bandwidth", "bandwidth with unit, or bytes per second", "not known",
      "How fast all nodes together write a checkpoint, for the time that failures cost."},
     {"device", "array of tables", "what the catalogue says of the nodes' devices",
      "The kinds of device, one `[[device]]` each."},
     {"node", "array of tables", "", "The groups of equal nodes, one `[[node]]` each."},
     {"switch", "array of tables", "none",
      "Switches with an uplink of their own, one `[[switch]]` each."}}};

const KeyTable device = {
    "[[device]]",
    "A kind of device. Of a GPU, CUDA's context, the workspaces of cuBLAS and cuDNN, and NCCL's "
    "buffers take a part that no plan counts: `reserve`. Where it is not given it is 1.5 GiB, or "
    "an "
    "eighth of a smaller memory, of kinds that are named after an NVIDIA GPU (`h100-80gb`), and 0 "
    "of others, with `emulate`, and where a PROFILE.json is given "
    "([planning](../planning.md#memory-that-is-set-aside)).",
    {{"kind", "text", "",
      "Its name. `pptrain cluster --list` shows those whose other keys may be left out."},
     {"memory", "size with unit, or bytes", "that of the kind",
      "Memory of one device, all of it usable but for `reserve`."},
     {"reserve", "size with unit, or bytes", "as said above",
      "How much of the memory drivers and libraries take, so that no plan may use it."},
     {"memory_bandwidth", "bandwidth with unit, or bytes per second",
      "that of the kind, else not known", "How fast a device reads and writes its memory."},
     {"flops", "table", "those of the kind, else no rates",
      "Highest rates of matrix products by precision."}}};

const KeyTable flops = {"device.flops",
                        "Rates of a kind of device; computed times need that of the job's "
                        "precision. Where the table is there it is "
                        "whole: a precision that it leaves out is not known.",
                        {flop_rate("fp64"), flop_rate("fp32"), flop_rate("tf32"), flop_rate("bf16"),
                         flop_rate("fp16"), flop_rate("fp8"), flop_rate("int8")}};

const KeyTable node = {
    "[[node]]",
    "A group of equal nodes.",
    {{"kind", "text", "\"node\"",
      "Name of the kind of node. `pptrain cluster --list` shows those whose devices and links may "
      "be left out."},
     {"count", "integer, at least 1", "1", "How many of them there are."},
     {"devices", "table", "those of the kind", "The devices of one node."},
     {"link", "table", "without `devices` that of the kind, else none, for nodes of one device",
      "Between any two devices of one node: per pair and direction, not shared."},
     {"uplink", "table", "without `devices` that of the kind, else none, for a single node",
      "From a node to its switch; a pair of nodes gets the slower of the two."},
     {"host_link", "table", "without `devices` that of the kind, else not known",
      "From each device to the memory of its host, for what is offloaded."},
     {"switch", "text", "\"\": the top", "Name of the switch that the nodes hang on."},
     {"cores", "integer, at least 0", "0: each device has its own",
      "Cores of the host that the node's devices share."},
     {"core_seconds", "table", "not known",
      "What communication costs the cores that devices share."},
     {"core_pool", "text", "\"\": none",
      "Nodes with the same name here, such as containers of one host, share `cores` with one "
      "another."},
     {"hosts", "text or array of texts", "not known",
      "Host name of each node, short or with its domain: the ranks that run there drive its "
      "devices."},
     {"price", "number, at least 0", "not known",
      "Money for an hour of one node, in the file's `currency`."},
     {"power", "power with unit, or watts", "what the catalogue says of its devices",
      "What one node takes at full load."},
     {"mtbf", "time with unit, or seconds", "not known",
      "Mean time between failures of one node: \"10000 h\"."}}};

const KeyTable devices = {"node.devices",
                          "",
                          {{"kind", "text", "", "Their kind, one of `[[device]]`."},
                           {"count", "integer, at least 1", "1", "Devices of one node."}}};

const KeyTable link = {
    "link, uplink, host_link",
    "A way that data take; n bytes arrive latency + n / bandwidth after they were sent.",
    {{"bandwidth", "bandwidth with unit, or bytes per second", "", "In each direction."},
     {"latency", "time with unit, or seconds", "0", "Until the first byte arrives."}}};

const KeyTable core_seconds = {
    "node.core_seconds",
    "Measured by `pptrain cluster`.",
    {{"message", "time with unit, or seconds", "0",
      "Work of a core to send and receive a message, beside copying it."},
     {"wait", "time with unit, or seconds", "0",
      "Work of a core each time that a device waits for a message."}}};

const KeyTable switches = {
    "[[switch]]",
    "",
    {{"name", "text", "", "Its name, as nodes and other switches use it."},
     {"uplink", "table", "no limit", "To the switch above, shared by all that passes it."},
     {"switch", "text", "\"\": the top", "Name of the switch above."},
     {"egress", "number, at least 0", "0",
      "Money for each GB (10^9 bytes) that leaves over the uplink, as between sites."}}};

std::vector<KeyTable> all() {
  return {root, device, flops, node, devices, link, core_seconds, switches};
}

}  // namespace pptrain::cluster_keys
