#include "examples.hpp"

namespace pptrain {

const char* const config_example = R"(
## Example

```sh
cat >job.toml <<'TOML'
[job]
name = "demo"
time_limit = "3.5 h"            # or in seconds: 12600

[model]
name = "gpt2"
layers = 12
hidden_size = 768
heads = 12
vocabulary_size = 256           # bytes; 50257 with files of `pptrain tokenize --tokenizer`
tied = true

[data]
train = ["/usr/share/common-licenses/GPL-2", "/usr/share/common-licenses/GPL-3"]
validation = "/usr/share/common-licenses/GFDL-1.3"

[training]
steps = 1000
sequence_length = 256
global_batch_size = 32
micro_batch_size = "auto"
precision = "bf16"

[optimizer]
name = "adamw"
learning_rate = 6e-4
weight_decay = 0.1

[lr_scheduler]
name = "cosine"
warmup_steps = 100
minimum = 6e-5

[parallelism]
pipeline = 4                    # what is not said here is chosen
schedule = "zb-h1"
recompute = "auto"
zero_stage = 1

[planner]
time_limit = "10 s"
trials = 3

[checkpoint]
interval = 200
keep = 2

[metrics]
evaluation_interval = 100
trace = true
TOML
pptrain validate job.toml
```

```text
job.toml: valid, a job of 14 layers
```
)";

const char* const cluster_example = R"(
## Example

Two new nodes and an old one, whose switches are connected by a slower link:

```sh
cat >cluster.toml <<'TOML'
name = "old and new"
emulate = "no"

[[device]]
kind = "a100"
memory = "40 GiB"
flops = { fp32 = "19.5 TFLOP/s", bf16 = "312 TFLOP/s", fp16 = "312 TFLOP/s" }
memory_bandwidth = "1555 GB/s"

[[device]]
kind = "v100"
memory = "16 GiB"
flops = { fp32 = "15.7 TFLOP/s", fp16 = "125 TFLOP/s" }
memory_bandwidth = "900 GB/s"

[[node]]
kind = "new"
count = 2
devices = { kind = "a100", count = 4 }
link = { bandwidth = "300 GB/s", latency = "3 us" }
uplink = { bandwidth = "200 Gbit/s", latency = "5 us" }
host_link = { bandwidth = "24 GB/s", latency = "10 us" }
switch = "rack 1"
hosts = ["n1", "n2"]

[[node]]
kind = "old"
devices = { kind = "v100", count = 2 }
link = { bandwidth = "150 GB/s", latency = "3 us" }
uplink = { bandwidth = "100 Gbit/s", latency = "5 us" }
switch = "rack 2"

[[switch]]
name = "rack 1"
uplink = { bandwidth = "400 Gbit/s", latency = "8 us" }

[[switch]]
name = "rack 2"
uplink = { bandwidth = "100 Gbit/s", latency = "8 us" }
TOML
pptrain cluster cluster.toml
```

```text
cluster old and new: 10 devices on 3 nodes
```
)";

const char* const profile_example = R"(
## Example

Two layers on one kind of device. The first may be shared by two devices, and was timed with one and with four samples:

```sh
cat >profile.json <<'JSON'
{"schema": "pptrain.profile/1", "model": "two layers", "source": "made up",
 "bytes_per_parameter": {"weight": 4, "gradient": 4, "optimizer": 8},
 "layers": [
  {"name": "dense", "parameters": 16777216, "output_bytes": 16384,
   "stored_bytes": 32768, "tensor_parallel_allreduce_bytes": 16384,
   "seconds": [
    {"device": "v100", "tensor_parallel": 1, "samples": 1,
     "forward": 0.0010, "backward_input": 0.0010, "backward_weight": 0.0009},
    {"device": "v100", "tensor_parallel": 1, "samples": 4,
     "forward": 0.0031, "backward_input": 0.0032, "backward_weight": 0.0030},
    {"device": "v100", "tensor_parallel": 2, "samples": 4,
     "forward": 0.0017, "backward_input": 0.0017, "backward_weight": 0.0016}],
   "update": [{"device": "v100", "tensor_parallel": 1, "seconds": 0.0004}]},
  {"name": "loss", "parameters": 0, "output_bytes": 0,
   "stored_bytes": 16384, "tensor_parallel_allreduce_bytes": 0,
   "seconds": [
    {"device": "v100", "tensor_parallel": 1, "samples": 4,
     "forward": 0.0002, "backward": 0.0002}]}]}
JSON
pptrain validate profile.json
```

```text
profile.json: valid, a profile of 2 layers
```
)";

const char* const plan_example = R"(
## Example

Eight samples a step, in two micro-batches of four. The first stage has two replicas, of which the faster one gets three
samples of each micro-batch; the layers of the second are shared by two devices:

```sh
cat >plan.json <<'JSON'
{"schema": "pptrain.plan/1",
 "global_batch_size": 8, "micro_batch_size": 4, "micro_batches": 2,
 "schedule": {"name": "1f1b"},
 "stages": [
  {"layers": [[0, 3]], "replicas": 2, "tensor_parallel": 1,
   "devices": [[0], [1]], "samples": [[0, 3], [3, 4]]},
  {"layers": [[3, 6]], "replicas": 1, "tensor_parallel": 2,
   "devices": [[2, 3]], "samples": [[0, 4]], "recompute": "full"}]}
JSON
pptrain validate plan.json
```

```text
plan.json: valid, a plan: 2 stages of DP x TP 2x1 | 1x2
```
)";

}  // namespace pptrain
