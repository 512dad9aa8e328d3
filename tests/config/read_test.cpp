#include "config/read.hpp"

#include <filesystem>
#include <fstream>

#include "config/texts.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

using test::everything;
using test::parse;
using test::refused;

TEST_CASE("an empty configuration has the documented defaults", "[config]") {
  const Config config = parse("");
  CHECK(config.training.steps == 20);
  CHECK_FALSE(config.training.micro_batch_size.has_value());
  CHECK_FALSE(config.parallelism.data.has_value());
  CHECK_FALSE(config.parallelism.zero_stage.has_value());
  CHECK_FALSE(config.parallelism.virtual_stages.has_value());
  CHECK(!config.parallelism.recompute);
  CHECK(config.job.timeout == 120.0);
  CHECK(config.cluster.file == "discover");
  CHECK(config.source == "c.toml");
}

TEST_CASE("every key is read", "[config]") {
  const Config config = parse(everything);
  CHECK(config.job.name == "a \"quoted\" name");
  CHECK(config.job.seed == 9007199254740991);
  CHECK(config.job.timeout == 120.0);
  CHECK(config.job.time_limit == 5400.0);
  CHECK(config.model.tied);
  REQUIRE(config.model.annotate.size() == 2);
  CHECK(config.model.annotate[0].primitive == Primitive::split);
  CHECK(config.model.annotate[1].layers == Interval{12, 14});
  CHECK(config.data.train == std::vector<std::string>{"a.bin", "b.txt"});
  CHECK(config.data.validation == std::vector<std::string>{"c.txt"});
  CHECK(config.training.micro_batch_size == 6);
  CHECK(config.training.precision == Precision::bf16);
  CHECK(config.optimizer.epsilon == 1e-6);
  CHECK(config.optimizer.weight_decay == 0.0);
  CHECK(config.parallelism.tensor == 4);
  CHECK_FALSE(config.parallelism.zero_stage.has_value());
  CHECK(config.parallelism.zero_group == ZeroGroup::node);
  CHECK(config.parallelism.offload == true);
  CHECK(config.parallelism.offload_activations == false);
  CHECK(config.planner.time_limit == 0.25);
  CHECK(config.profile.file == "measured.json");
  CHECK(config.metrics.evaluation_interval == 4);
  CHECK(config.where("training.steps") == "c.toml:27");
  CHECK(config.where("training.nothing") == "c.toml");
}

TEST_CASE("a flag may be left to the planner", "[config]") {
  const auto offload = [](const std::string& value) {
    return parse("[parallelism]\noffload = " + value + "\n").parallelism.offload;
  };
  CHECK_FALSE(parse("").parallelism.offload.has_value());
  CHECK_FALSE(offload("\"auto\"").has_value());
  CHECK(offload("true") == true);
  CHECK(offload("false") == false);
  CHECK(refused("[parallelism]\noffload = \"yes\"\n") ==
        "c.toml:2: parallelism.offload is \"yes\" (it has to be true, false or \"auto\"); write "
        "true or false without "
        "quotes");
}

TEST_CASE("CUDA graphs are asked for", "[config]") {
  CHECK_FALSE(parse("").job.cuda_graphs);
  const Config config = parse("[job]\ncuda_graphs = true\n");
  CHECK(config.job.cuda_graphs);
  CHECK(parse(write_config(config)).job.cuda_graphs);
}

TEST_CASE("what is written reads back the same", "[config]") {
  for (const std::string_view text : {std::string_view(""), everything}) {
    const std::string written = write_config(parse(text));
    const Config again = parse(written);
    CHECK(write_config(again) == written);
    CHECK(again.optimizer.gradient_clip == parse(text).optimizer.gradient_clip);
    CHECK(again.model.annotate.size() == parse(text).model.annotate.size());
    CHECK(again.data.train == parse(text).data.train);
  }
}

TEST_CASE("every default is written out", "[config]") {
  const std::string written = write_config(parse(""));
  for (const char* line : {"[lr_scheduler]\n", "micro_batch_size = \"auto\"\n",
                           "timeout = \"120 s\"\n", "beta1 = 0.9\n", "trace = false\n",
                           "train = []\n", "zero_stage = \"auto\"\n", "gradient_clip = 1.0\n"}) {
    CAPTURE(line);
    CHECK(written.find(line) != std::string::npos);
  }
}

TEST_CASE("every key stands in the round trip of the documented file", "[config]") {
  // Were a key missing from the writer, the documented keys would not all come back.
  const std::string written = write_config(parse(everything));
  std::size_t begin = 0;
  while (begin < everything.size()) {
    const std::size_t end = everything.find('\n', begin);
    const std::string_view line = everything.substr(begin, end - begin);
    const std::string key(line.substr(0, line.find(" = ")));
    CAPTURE(key);
    CHECK(written.find(key) != std::string::npos);
    begin = end + 1;
  }
}

TEST_CASE("unknown sections and keys name line and nearest name", "[config]") {
  CHECK(refused("[training]\nstep = 3\n") ==
        "c.toml:2: training.step is not known; did you mean training.steps?");
  CHECK(refused("[trainin]\nsteps = 3\n") ==
        "c.toml:1: trainin is not known; did you mean training?");
  CHECK(refused("[[model.annotate]]\nlayers = [0, 1]\ndevices = 1\nprimitiv = \"split\"\n") ==
        "c.toml:4: model.annotate.primitiv is not known; did you mean model.annotate.primitive?");
  CHECK(refused("", {"training.stepz=3"}) ==
        "--set training.stepz: training.stepz is not known; did you mean training.steps?");
  CHECK(refused("", {"trainingg.steps=3"})
            .starts_with("--set trainingg.steps: trainingg is not known; did you mean tr"));
}

TEST_CASE("what describes the model stands alone", "[config]") {
  CHECK(refused("[model]\nlayers = 3\nfrom = \"folder\"\n") ==
        "c.toml:2: model.layers stands beside model.from (the folder's config.json describes the "
        "model); remove one of them");
  CHECK(refused("[model]\nname = \"bert-large\"\nheads = 4\n") ==
        "c.toml:3: model.heads stands beside model.name (a \"bert-large\" has dimensions of its "
        "own); remove one of them");
  CHECK(refused("[model]\nhidden_size = 8\n[[model.layer]]\nkind = \"embedding\"\n")
            .starts_with("c.toml:2: model.hidden_size stands beside model.layer ("));
  CHECK(refused("[model]\nfrom = \"folder\"\nfron = 1\n") ==
        "c.toml:3: model.fron is not known; did you mean model.from?");
}

TEST_CASE("duplicate keys name line and column", "[config]") {
  CHECK(refused("[training]\nsteps = 3\nsteps = 4\n").starts_with("c.toml:3:"));
}

TEST_CASE("wrong types and units name line and key", "[config]") {
  CHECK(
      refused("[training]\nsteps = \"ten\"\n").starts_with("c.toml:2: training.steps is a string"));
  CHECK(refused("[training]\nsteps = 1.5\n").starts_with("c.toml:2: training.steps is a float"));
  CHECK(refused("[job]\ntimeout = \"5 GiB\"\n")
            .starts_with("c.toml:2: job.timeout = \"5 GiB\" is not understood"));
  CHECK(refused("[data]\ntrain = 5\n").starts_with("c.toml:2: data.train is an integer"));
  CHECK(refused("[parallelism]\ndata = \"all\"\n")
            .starts_with("c.toml:2: parallelism.data is \"all\""));
  CHECK(refused("training = 3\n")
            .starts_with("c.toml:1: training is an integer (it has to be a table)"));
  CHECK(refused("[[model.annotate]]\nlayers = [1]\ndevices = 1\n")
            .starts_with("c.toml:2: model.annotate.layers has 1"));
  CHECK(refused("[[model.annotate]]\ndevices = 1\n")
            .starts_with("c.toml:1: model.annotate.layers is missing"));
}

TEST_CASE("values out of range name the limits", "[config]") {
  CHECK(refused("[training]\nsteps = 0\n") ==
        "c.toml:2: training.steps = 0 is out of range (it has to be at least 1); "
        "choose one that is, or leave the key out for its default");
  CHECK(refused("[model]\nvocabulary_size = 2147483648\n").find("at most 2147483647") !=
        std::string::npos);
  CHECK(parse("[model]\nvocabulary_size = 2147483647\n").model.vocabulary_size == 2147483647);
  CHECK(refused("[parallelism]\nzero_stage = 4\n").find("at least 0 and at most 3") !=
        std::string::npos);
  CHECK(refused("[parallelism]\nzero_stage = 0\nzero_group = \"node\"\n")
            .find("stage 0 divides nothing") != std::string::npos);
  CHECK(refused("[optimizer]\nbeta1 = 1.0\n").find("less than 1") != std::string::npos);
  CHECK(refused("[optimizer]\nlearning_rate = 0\n").find("more than 0") != std::string::npos);
  for (const char* bad :
       {"model.layers=0", "model.heads=0", "model.hidden_size=-64", "training.sequence_length=0",
        "training.global_batch_size=0", "training.micro_batch_size=0", "optimizer.learning_rate=-1",
        "optimizer.learning_rate=inf", "optimizer.beta2=-0.1", "optimizer.epsilon=0",
        "optimizer.gradient_clip=-1", "job.seed=-1", "job.timeout=0", "checkpoint.keep=0",
        "metrics.interval=0", "training.steps=3000000000", "parallelism.tensor=0"}) {
    CAPTURE(bad);
    CHECK(refused("", {bad}).starts_with("--set "));
  }
}

TEST_CASE("an override that is no UTF-8 is refused", "[config]") {
  CHECK(
      refused("", {"job.name=a\xff"}) ==
      "--set job.name: the value is not text (it has bytes that are no UTF-8); write it in UTF-8");
}

TEST_CASE("names that are not known come with the nearest one", "[config]") {
  CHECK(refused("[parallelism]\nschedule = \"1f1\"\n").find("did you mean \"1f1b\"?") !=
        std::string::npos);
  CHECK(refused("[planner]\nname = \"megatrom\"\n").find("did you mean \"megatron\"?") !=
        std::string::npos);
  CHECK(refused("[training]\nprecision = \"fp23\"\n").find("fp32, bf16, fp16") !=
        std::string::npos);
  CHECK(refused("[optimizer]\nname = \"adam\"\n").find("did you mean \"adamw\"?") !=
        std::string::npos);
  CHECK(refused("[lr_scheduler]\nname = \"cosin\"\n").find("did you mean \"cosine\"?") !=
        std::string::npos);
  CHECK(refused("[model]\nname = \"gpt3\"\n").find("did you mean \"gpt2\"?") != std::string::npos);
}

TEST_CASE("overrides count as if written in the file", "[config]") {
  const Config config =
      parse("[training]\nsteps = 5\n",
            {"training.steps=9", "data.train=some/file.txt", "parallelism.data=auto",
             "job.timeout=3 s", "data.validation=[\"a\", \"b\"]"});
  CHECK(config.training.steps == 9);
  CHECK(config.data.train == std::vector<std::string>{"some/file.txt"});
  CHECK_FALSE(config.parallelism.data.has_value());
  CHECK(config.job.timeout == 3.0);
  CHECK(config.data.validation.size() == 2);
  CHECK(config.where("training.steps") == "--set training.steps");
}

TEST_CASE("a classifier has keys of its own and reads back as it was written", "[config]") {
  const std::string text =
      "[model]\nname = \"mlp-classifier\"\nlayers = 2\ninput_size = 7\nclasses = 100000\n"
      "[data]\ntrain = \"synthetic\"\n[training]\nglobal_batch_size = 8\n";
  const Config config = parse(text);
  CHECK((config.model.input_size == 7 && config.model.classes == 100000 &&
         config.model.num_layers() == 3));
  CHECK(config.data.train == std::vector<std::string>{"synthetic"});
  CHECK(parse(write_config(config)).model.classes == 100000);
  CHECK(write_config(config).find("sequence_length") == std::string::npos);
  CHECK(refused(text + "sequence_length = 3\n").find("sequence_length") != std::string::npos);
  CHECK(refused("[model]\nclasses = 10\n").find("classes") != std::string::npos);
  CHECK(refused(text, {"model.classes=100001"}).find("at most 100000") != std::string::npos);
  CHECK(refused(text, {"parallelism.pipeline=4"}).find("it has 3 (2 dense layers, classifier)") !=
        std::string::npos);
  CHECK(
      refused(text, {"parallelism.tensor=8"}).find("8 is more shards than the model has columns") !=
      std::string::npos);
}

TEST_CASE("input paths are found beside the configuration first", "[config]") {
  const auto folder = std::filesystem::temp_directory_path() / "pptrain_config_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "here.txt") << "text";
  std::ofstream(folder / "c.toml")
      << "[data]\ntrain = [\"here.txt\", \"there.txt\", \"/abs.txt\"]\nvalidation = \"\"\n";
  const Config config = read_config((folder / "c.toml").string());
  CHECK(config.data.train ==
        std::vector<std::string>{(folder / "here.txt").string(), "there.txt", "/abs.txt"});
  CHECK(config.data.validation.empty());
  CHECK(config.cluster.file == "discover");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a dataset of Megatron-LM is found beside the configuration by the name of the pair",
          "[config]") {
  const auto folder = std::filesystem::temp_directory_path() / "pptrain_config_pair_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "pair.idx") << "index";
  std::ofstream(folder / "c.toml") << "[[data.mix]]\npath = [\"pair\", \"other\"]\n";
  const Config config = read_config((folder / "c.toml").string());
  CHECK(config.data.mix[0].path == std::vector<std::string>{(folder / "pair").string(), "other"});
  std::filesystem::remove_all(folder);
}

TEST_CASE("sources of a mix have files and weights", "[config]") {
  const std::string text =
      "[data]\nvalidation = \"v.bin\"\n[[data.mix]]\npath = \"a.bin\"\nweight = 0.25\n"
      "[[data.mix]]\npath = [\"b.bin\", \"c.bin\"]\n";
  const Config config = parse(write_config(parse(text)));
  REQUIRE(config.data.mix.size() == 2);
  CHECK(config.data.has_training_data());
  CHECK((config.data.mix[0].path == std::vector<std::string>{"a.bin"} &&
         config.data.mix[0].weight == 0.25));
  CHECK((config.data.mix[1].path == std::vector<std::string>{"b.bin", "c.bin"} &&
         config.data.mix[1].weight == 1.0));
  CHECK(config.data.validation == std::vector<std::string>{"v.bin"});
  CHECK_FALSE(parse("").data.has_training_data());
  const auto mix = [](const std::string& more) { return refused("[[data.mix]]\n" + more); };
  CHECK(mix("path = \"a\"\nweight = 0.0\n")
            .starts_with("c.toml:3: data.mix.weight = 0 is out of range"));
  CHECK(mix("path = \"a\"\nweigth = 1.0\n").find("did you mean data.mix.weight?") !=
        std::string::npos);
  CHECK(mix("weight = 1.0\n").starts_with("c.toml:1: element 0 of data.mix names no file"));
  CHECK(refused("[data]\ntrain = \"t\"\n[[data.mix]]\npath = \"a\"\n")
            .starts_with("c.toml:3: data.mix contradicts"));
  CHECK(refused("[model]\nname = \"mlp-classifier\"\n[[data.mix]]\npath = \"a\"\n")
            .starts_with("c.toml:3: data.mix is for transformers"));
}

TEST_CASE("documents end with a token of the vocabulary", "[config]") {
  CHECK_FALSE(parse("").data.end_of_document);
  CHECK(parse("").data.attend_across_documents);
  const Config config = parse("[data]\nend_of_document = 256\nattend_across_documents = false\n");
  CHECK((config.data.end_of_document == 256 && !config.data.attend_across_documents));
  CHECK_FALSE(parse("[data]\nend_of_document = \"auto\"\n").data.end_of_document);
  CHECK(refused("[data]\nend_of_document = 257\n") ==
        "c.toml:2: end_of_document = 257 is no token (vocabulary_size = 257 admits 0 to 256); give "
        "the token that the "
        "tokenizer puts behind a document");
  CHECK(refused("[data]\nend_of_document = -1\n").find("at least 0") != std::string::npos);
  CHECK(refused("[model]\nname = \"mlp-classifier\"\n[data]\nend_of_document = 0\n")
            .find("data.end_of_document") != std::string::npos);
}

TEST_CASE("a loss scale is dynamic or a number, of fp16", "[config]") {
  CHECK_FALSE(parse("").training.loss_scale);
  CHECK(parse("[training]\nprecision = \"fp16\"\nloss_scale = 1024\n").training.loss_scale ==
        1024.0);
  CHECK_FALSE(
      parse("[training]\nprecision = \"fp16\"\nloss_scale = \"dynamic\"\n").training.loss_scale);
  CHECK_FALSE(parse("[training]\nloss_scale = \"dynamic\"\n").training.loss_scale);
  CHECK(parse("[training]\nloss_scale = 1\n").training.loss_scale == 1.0);
  CHECK(refused("[training]\nprecision = \"bf16\"\nloss_scale = 8\n")
            .starts_with("c.toml:3: loss_scale = 8 with"));
  CHECK(refused("[training]\nprecision = \"fp16\"\nloss_scale = 0.5\n")
            .find("at least 1 and at most 16777216") != std::string::npos);
  CHECK(refused("[training]\nloss_scale = \"dynamik\"\n") ==
        "c.toml:2: training.loss_scale is \"dynamik\" (it has to be a number or \"dynamic\"); "
        "write \"dynamic\"");
  CHECK(refused("[training]\nloss_scale = true\n")
            .starts_with("c.toml:2: training.loss_scale is a "));
}

TEST_CASE("gradients travel in fp32 or bf16", "[config]") {
  CHECK(parse("").training.gradient_precision == GradientPrecision::fp32);
  CHECK(parse("[training]\ngradient_precision = \"bf16\"\n").training.gradient_precision ==
        GradientPrecision::bf16);
  CHECK(refused("[training]\ngradient_precision = \"fp16\"\n").find("fp32, bf16") !=
        std::string::npos);
}

TEST_CASE("experts are balanced in each layer or over the model", "[config]") {
  CHECK(parse("").training.router_aux_loss_over == BalanceOver::layer);
  CHECK(parse("[training]\nrouter_aux_loss_over = \"model\"\n").training.router_aux_loss_over ==
        BalanceOver::model);
  CHECK(refused("[training]\nrouter_aux_loss_over = \"all\"\n").find("layer, model") !=
        std::string::npos);
}

TEST_CASE("texts to be continued are read and written in order, whatever they hold") {
  const Config config = parse("[metrics]\nsample_prompts = [\"You \\\"may\\\"\", \"a\\nb\"]\n");
  const std::vector<std::string> prompts = {"You \"may\"", "a\nb"};
  CHECK(config.metrics.sample_prompts == prompts);
  CHECK(parse(write_config(config)).metrics.sample_prompts == prompts);
  CHECK(refused("[metrics]\nsample_prompts = [3]\n").find("sample_prompts[0]") !=
        std::string::npos);
}

}  // namespace
}  // namespace pptrain
