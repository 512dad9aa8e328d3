#include "io/keys.hpp"

namespace pptrain::io_keys {
namespace {

const std::string always = "always";
const std::string text = "text";

}  // namespace

const KeyTable run_directory = {
    "OUTPUT/JOB/START-TIME/",
    "The folder that a job prints as its run directory.",
    {{"config.toml", "CONFIG.toml", always, "The job as it ran, every default written out."},
     {"model/", "folder", "`[model] from`",
      "config.json, the tokenizer's files and the generation settings of the folder that the job "
      "started from."},
     {"plan.json", "PLAN.json", always, "The plan that it ran by."},
     {"profile.json", "PROFILE.json", always, "The times of layers that the plan is made from."},
     {"cluster.toml", "CLUSTER.toml", always, "The cluster that it is made for."},
     {"placement.json", "JSON", always, "Which rank is on which host and computes which part."},
     {"metrics.h5", "HDF5", always, "Series of losses, times and memory; also while the job runs."},
     {"log.txt", text, always, "What was said while it ran."},
     {"trace.json", "Chrome trace", "`[metrics] trace`",
      "What every device did when in the last iteration; written at the end."},
     {"checkpoints/step-N.h5", "HDF5", "`[checkpoint]`", "The state after N steps."},
     {"plan-after-N.json", "PLAN.json", "`[planner] replan`",
      "A plan that took the place of the one before at step N."},
     {"report.html", "HTML", "`pptrain report`", "The run as a page."}}};

const KeyTable placement = {
    "placement.json",
    "An array with an entry for each rank.",
    {{"rank", "integer", always, "Its number."},
     {"host", text, always, "The host that it is on."},
     {"device", "integer", always, "Number of its device in the cluster file."},
     {"kind", text, always, "Kind of the device."},
     {"socket", "integer", "where it is known", "Socket of the host."},
     {"stage", "integer", "where the plan uses it", "Its stage."},
     {"replica", "integer", "where the plan uses it", "Its replica of the stage."},
     {"shard", "integer", "where the plan uses it", "Its place in the tensor-parallel group."}}};

const KeyTable environment = {"/environment",
                              "Attributes of the group.",
                              {{"pptrain_version", text, always, "Version of pptrain."},
                               {"mpi_version", text, always, "Version of MPI."},
                               {"hdf5_version", text, always, "Version of HDF5."},
                               {"gemm", text, always, "What computes matrix products."},
                               {"attention", text, always, "What computes attention."},
                               {"device", text, always, "What rank 0 computes with."},
                               {"hosts", text, always, "Host names."},
                               {"devices", text, always, "Devices of the cluster by kind."},
                               {"job_id", text, "under Slurm, else empty", "Number of the job."},
                               {"command_line", text, always, "How the job was started."},
                               {"started", text, always, "When it was started."},
                               {"resumed_from", text, "after `--resume`, else empty",
                                "The checkpoint that it went on from."}}};

const KeyTable checkpoint = {
    "the file",
    "Values are fp32, whole and in logical shape, however the job was divided.",
    {{"schema", "attribute: text", always, "`pptrain.checkpoint/1`."},
     {"/parameters/NAME", "fp32", always, "A parameter."},
     {"/optimizer/NAME/m, /optimizer/NAME/v", "fp32",
      "AdamW; Lion: m; Muon: of parameters that AdamW updates",
      "Running means of the gradient and its square."},
     {"/optimizer/NAME/momentum", "fp32", "SGD with momentum; Muon: of hidden matrices",
      "What its steps go on by."},
     {"/optimizer/NAME/row_variance, /optimizer/NAME/column_variance",
      "fp32, one for each row or column", "Adafactor: of a matrix",
      "Running means of the squared gradient."},
     {"/optimizer/NAME/variance", "fp32", "Adafactor: of others", "The same by element."},
     {"xxh3_64", "attribute of each of these: 64-bit integers", always,
      "XXH3 of every 4 MiB of its values."},
     {"/state", "group", always,
      "What else the job goes on from; its attribute `xxh3_64` is a digest of all of it."}}};

const KeyTable state = {
    "/state",
    "",
    {{"step", "integer", always, "Optimizer steps done."},
     {"samples", "integer", always, "Samples taken of the endless sequence of epochs."},
     {"seed", "integer", always, "Random numbers follow from it and from what they are for."},
     {"loss_scale", "number", always, "Factor on the loss; 1 where there is none."},
     {"good_steps", "integer", always, "Steps since it changed."},
     {"skipped_steps", "integer", always, "Steps that changed nothing, of those done."},
     {"data", text, always, "Fingerprint of the training data."},
     {"configuration", text, always, "CONFIG.toml, every default written out."},
     {"plan", text, always, "PLAN.json."},
     {"profile", text, always, "PROFILE.json that the plan is made from."},
     {"cluster", text, always, "CLUSTER.toml that it is made for."}}};

}  // namespace pptrain::io_keys
