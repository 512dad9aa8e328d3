#include "profile/from_files.hpp"

#include <fmt/format.h>

#include "cluster/read.hpp"
#include "config/read.hpp"
#include "data/files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// A profile of one layer that takes three seconds on a V100.
std::string profile_of(const std::string& model, const std::string& more = "") {
  return fmt::format(R"({{"schema": "pptrain.profile/1", "model": "{}"{},
 "bytes_per_parameter": {{"weight": 4, "gradient": 4, "optimizer": 8}},
 "layers": [{{"name": "l", "parameters": 1, "output_bytes": 0, "stored_bytes": 0,
   "tensor_parallel_allreduce_bytes": 0, "seconds": [{{"device": "v100", "tensor_parallel": 1,
     "samples": 1, "forward": 1, "backward_input": 1, "backward_weight": 1}}]}}]}})",
                     model, more);
}

/// A job with this profile in its file, if any, whose keys begin in line 3 then.
Config job_with(const std::string& file, const std::string& keys = "") {
  const std::string profile = file.empty() ? "" : "[profile]\nfile = \"" + file + "\"\n";
  return parse_config(profile + keys, "job.toml", "");
}

/// One device of each kind, of which the T4 has half of the V100's rate.
Cluster two_kinds() {
  return parse_cluster(
      "[[device]]\nkind = \"v100\"\nmemory = \"16 GB\"\nmemory_bandwidth = \"900 GB/s\"\n"
      "flops = { fp32 = \"16 TFLOP/s\" }\n"
      "[[device]]\nkind = \"t4\"\nmemory = \"16 GB\"\nmemory_bandwidth = \"320 GB/s\"\n"
      "flops = { fp32 = \"8 TFLOP/s\" }\n"
      "[[node]]\ndevices = { kind = \"v100\" }\nuplink = { bandwidth = \"1 GB/s\" }\n"
      "[[node]]\ndevices = { kind = \"t4\" }\nuplink = { bandwidth = \"1 GB/s\" }\n",
      "c.toml");
}

TEST_CASE("a profile is of the model that the job names, if it names one", "[profile]") {
  const TestFolder folder("named_profile");
  const std::string file = folder.write("p.json", profile_of("vgg"));
  CHECK(named_profile(job_with(file)).model == "vgg");
  CHECK(named_profile(job_with(file, "[model]\nname = \"vgg\"\n")).model == "vgg");
  const Config other = job_with(file, "[model]\nname = \"amoeba\"\n");
  CHECK(complaint_of([&] { named_profile(other); }) ==
        "job.toml:4: name = \"amoeba\", but " + file +
            " is of \"vgg\" (a planning job takes the model from its profile); did you mean "
            "\"vgg\", or another profile?");
}

TEST_CASE("gradients travel in two bytes at most where they are to be bf16", "[profile]") {
  Profile profile;
  count_gradients(profile, GradientPrecision::bf16);
  CHECK(profile.bytes_per_parameter.sent() == 2.0);
  profile.bytes_per_parameter.gradient = 1.0;  // what is held in less goes as it is
  count_gradients(profile, GradientPrecision::bf16);
  CHECK(profile.bytes_per_parameter.sent() == 1.0);
  count_gradients(profile, GradientPrecision::fp32);
  CHECK(profile.bytes_per_parameter.sent_gradient == 0.0);
}

TEST_CASE("memory is set aside of GPUs unless a profile is named", "[profile]") {
  constexpr double gib = 1073741824.0;
  const auto memory = [](const std::string& of_job, const std::string& given) {
    Cluster cluster = parse_cluster(
        "[[device]]\nkind = \"h100\"\nmemory = \"80 GiB\"\n[[node]]\ndevices = { kind = \"h100\" "
        "}\n",
        "c.toml");
    set_reserves(cluster, job_with(of_job), given);
    return cluster.device_kinds.front().memory;
  };
  CHECK(memory("", "") == 78.5 * gib);
  CHECK(memory("p.json", "") == 80.0 * gib);
  CHECK(memory("", "p.json") == 80.0 * gib);
}

TEST_CASE("a job's profile is the one that is given, else that of its file, else computed",
          "[profile]") {
  const TestFolder folder("profile_without_machine");
  const std::string file = folder.write("p.json", profile_of("vgg"));
  const std::string given = folder.write("given.json", profile_of("other"));
  const Cluster cluster = two_kinds();
  const std::string bf16 = "[training]\ngradient_precision = \"bf16\"\n";
  const auto profile = [&](const Config& config, const std::string& from = "") {
    return profile_without_machine(config, cluster, from);
  };
  CHECK(profile(job_with(file)).model == "vgg");
  CHECK(profile(job_with(file), given).model == "other");
  CHECK(profile(job_with("")).model == "gpt2");
  CHECK(profile(job_with("")).num_layers() == 6);
  for (const std::string& of_job : {std::string(), file}) {
    CHECK(profile(job_with(of_job)).bytes_per_parameter.sent() == 4.0);
    CHECK(profile(job_with(of_job, bf16)).bytes_per_parameter.sent() == 2.0);
  }
  // Kinds that a file lacks are filled in where that is allowed.
  CHECK_FALSE(profile(job_with(file)).has_degree("t4", 1));
  CHECK(profile(job_with(file, "analytic = true\n")).seconds(0, "t4", 1, 1.0)->forward ==
        Approx(2.0));
}

TEST_CASE("times of samples that other numbers of replicas divide are refused", "[profile]") {
  const TestFolder folder("profile_context");
  const std::string whole = folder.write("whole.json", profile_of("vgg"));
  const std::string halves = folder.write("halves.json", profile_of("vgg", ", \"context\": 2"));
  const auto refused = [&](const std::string& file, const std::string& keys) {
    return complaint_of([&] { profile_without_machine(job_with(file, keys), two_kinds(), ""); });
  };
  const std::string two = "[parallelism]\nlike = \"megatron\"\ncontext = 2\n";
  CHECK(refused(halves, two) == "nothing was refused");
  CHECK(refused(halves, "") ==
        halves +
            ": its times are of samples that 2 replicas divide (the job has context = 1); add "
            "--set parallelism.context=2");
  CHECK(refused(whole, two) == whole +
                                   ": its times are of samples that 1 replica divides (the job has "
                                   "context = 2); leave the profile out: times are computed "
                                   "(--analytic)");
}

}  // namespace
}  // namespace pptrain
