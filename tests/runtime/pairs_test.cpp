// Jobs whose samples are pairs of texts.
#include "job_folder.hpp"
#include "reference.hpp"
#include "runtime/execute/model_weights.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"
#include "support/files.hpp"
#include "weights/weight_writer.hpp"

using namespace pptrain;
using namespace pptrain::test;

TEST_CASE("two runs over pairs are equal bit for bit", "[np4]") {
  const Reference reference("t5");
  Plan plan = reference.plan(2, 2, 1, 4, "interleaved-1f1b", 2);
  for (const int zero_stage : {0, 3}) {
    for (Stage& stage : plan.stages) stage.zero_stage = zero_stage;
    const Curve one = train_reference(MPI_COMM_WORLD, reference, plan, 6);
    const Curve other = train_reference(MPI_COMM_WORLD, reference, plan, 6);
    CHECK(one.losses == other.losses);
    CHECK(one.grad_norms == other.grad_norms);
  }
}

TEST_CASE("a job makes pairs as it needs them, and learns from them", "[np2]") {
  const JobFolder folder;
  JobOptions options;
  options.config_path = folder.path() + "/pairs.toml";
  if (world_rank() == 0) {
    std::ofstream(options.config_path)
        << "[job]\nname = \"job\"\noutput = \"" << folder.path() << "/outputs\"\n[model]\nfrom = \""
        << source_file("inputs/models/t5-small")
        << "\"\ninitial = \"random\"\n[data]\ntrain = \"synthetic\"\n"
        << "validation = \"synthetic\"\n[training]\nsteps = 40\nsequence_length = 8\nsource_length "
           "= 12\n"
        << "global_batch_size = 8\n[optimizer]\nlearning_rate = 2e-3\n[profile]\ncache = false\n";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  train(MPI_COMM_WORLD, options);
  if (world_rank() != 0) return;
  const std::vector<double> losses =
      read_series(folder.run("outputs") / "metrics.h5", "/steps/loss");
  CHECK(losses.back() < 0.85 * losses.front());
  CHECK(read_series(folder.run("outputs") / "metrics.h5", "/evaluation/loss").front() <
        0.9 * losses.front());
}

TEST_CASE(
    "copies of a shared table are passed over, an output that differs from the one it is tied to "
    "is refused",
    "[np1]") {
  const Reference reference("t5-tied");
  const Model model = build_model(reference.config.model, reference.config.training, "test");
  const WeightFiles files(reference.config.model.from);
  const auto values_of = [&](const std::string& name) {
    std::vector<float> values(static_cast<std::size_t>(num_elements(files.tensor(name))));
    files.read(name, {0, static_cast<std::int64_t>(values.size())}, values.data());
    return values;
  };
  const JobFolder folder;
  for (const bool differs : {false, true}) {
    const std::string path = folder.path() + (differs ? "/other" : "/copies");
    std::vector<WeightTensor> tensors = files.tensors();
    const std::vector<std::string> copies = {"encoder.embed_tokens.weight",
                                             "decoder.embed_tokens.weight", "lm_head.weight"};
    for (const std::string& name : copies)
      tensors.push_back({name, WeightType::f32, files.tensor("shared.weight").shape});
    WeightWriter writer(path, tensors);
    for (const WeightTensor& tensor : files.tensors())
      writer.write(tensor.name, 0, values_of(tensor.name));
    std::vector<float> table = values_of("shared.weight");
    for (const std::string& name : copies) {
      if (differs && name == "lm_head.weight") table.back() += 1.0F;
      writer.write(name, 0, table);
    }
    writer.commit();
    if (differs) {
      CHECK_THAT(complaint_of([&] { ModelWeights(path, model); }),
                 Catch::Contains("lm_head.weight is another tensor than shared.weight"));
    } else {
      CHECK_NOTHROW(ModelWeights(path, model));
    }
  }
}
