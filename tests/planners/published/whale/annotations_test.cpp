#include "planners/published/whale/annotations.hpp"

#include "config/read.hpp"
#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

/// Six layers of a second each, then a classifier of 10,000 parameters that alone has rows at
/// degree 4.
Profile features_and_classifier() {
  Profile profile;
  for (int l = 0; l < 6; ++l) {
    profile.layers.push_back(layer(fmt::format("{}", l), 0.25, 0.25, 0.5));
    profile.layers.back().parameters = 10.0;
    profile.layers.back().output_bytes = 10.0;
  }
  ProfileLayer classifier = layer("classifier", 0.1, 0.1, 0.2);
  classifier.parameters = 10000.0;
  classifier.rows.push_back({"v", 4, 1.0, {0.025, 0.025, 0.05}, true});
  profile.layers.push_back(classifier);
  return profile;
}

Annotation replicate(int begin, int end, int devices) {
  return {{begin, end}, Primitive::replicate, devices};
}
Annotation split(int begin, int end, int devices) {
  return {{begin, end}, Primitive::split, devices};
}

struct Job {
  Profile profile = features_and_classifier();
  Cluster cluster = nodes_of(1, 4);
  std::int64_t batch = 8;
  Restrictions restrictions;

  Job(std::vector<Annotation> annotations, int nodes = 1) : cluster(nodes_of(nodes, 4)) {
    restrictions.annotations = std::move(annotations);
  }
  Instance instance() const { return {profile, cluster, batch}; }
  SearchResult search() const { return search_plan("whale", instance(), restrictions, "x"); }
  Plan plan() const {
    const SearchResult result = search();
    INFO(result.why_not);
    REQUIRE(result.plan);
    validate_plan(*result.plan, profile.num_layers(), cluster.num_devices(), "plan");
    CHECK(why_not_fit(instance(), *result.plan).empty());
    return *result.plan;
  }
  std::string refused() const {
    return complaint_of([&] { search(); });
  }
};

TEST_CASE("each annotated part is a stage on its own devices", "[planners]") {
  const Plan plan = Job({replicate(0, 3, 2), replicate(3, 7, 2)}).plan();
  REQUIRE(plan.num_stages() == 2);
  CHECK(plan.stages[0].layers == std::vector<Interval>{{0, 3}});
  CHECK(plan.stages[0].replicas == 2);
  CHECK(plan.stages[1].replicas == 2);
}

TEST_CASE("the pipeline is replicated when the devices are a multiple", "[planners]") {
  const Plan plan = Job({replicate(0, 3, 1), replicate(3, 7, 1)}).plan();
  REQUIRE(plan.num_stages() == 2);
  CHECK(plan.stages[0].replicas == 2);
  CHECK(plan.stages[1].replicas == 2);
}

TEST_CASE("layers without annotation go to the neighbour where they take less", "[planners]") {
  Job job({replicate(0, 1, 1), replicate(6, 7, 1)});
  job.profile.layers.back().parameters = 10.0;
  for (const Stage& stage : job.plan().stages) {
    const Interval layers = stage.layers.front();
    CHECK((layers == Interval{0, 3} || layers == Interval{3, 7}));
  }
  // Three devices take three quarters of the work, which only layers that are not annotated can be.
  Job uneven({replicate(0, 1, 3), replicate(6, 7, 1)});
  uneven.batch = 24;
  CHECK(uneven.plan().stages[0].layers.front() == Interval{0, 5});
}

TEST_CASE("parts that ask for more devices than there are share them as blocks", "[planners]") {
  const Job job({replicate(0, 6, 4), split(6, 7, 4)});  // Whale's Example 2
  const Plan plan = job.plan();
  REQUIRE(plan.num_stages() == 1);
  CHECK(plan.stages[0].replicas == 4);
  CHECK(plan.stages[0].tensor_parallel == 1);
  REQUIRE(plan.stages[0].blocks.size() == 1);
  const Block& block = plan.stages[0].blocks[0];
  CHECK(block.layers == Interval{6, 7});
  CHECK(block.replicas == 1);
  CHECK(block.tensor_parallel == 4);
  CHECK(block.pattern == TensorPattern::sp1);  // the last layer gathers no outputs
  // Without annotations the plan has such a block too, since it is faster than to reduce the
  // classifier's gradients.
  const Plan free = Job({}).plan();
  CHECK(free.predicted->estimate_seconds <= plan.predicted->estimate_seconds);
  CHECK(free.stages[0].blocks.size() == 1);
  Restrictions none;
  const auto replicated = search_plan("data-parallel", job.instance(), none, "x");
  CHECK(plan.predicted->estimate_seconds < replicated.plan->predicted->estimate_seconds);
}

TEST_CASE("parts share their devices where one stage is asked for", "[planners]") {
  Job job({replicate(0, 6, 4), split(6, 7, 4)}, 2);
  CHECK(job.plan().num_stages() == 2);
  job.restrictions.pipeline = 1;
  const Plan plan = job.plan();
  REQUIRE(plan.num_stages() == 1);
  CHECK(plan.stages[0].replicas == 8);
  CHECK(plan.stages[0].blocks.at(0).replicas == 2);
  CHECK(plan.stages[0].blocks.at(0).tensor_parallel == 4);
}

TEST_CASE("parts that share devices and are alike are one part", "[planners]") {
  const Plan plan = Job({replicate(0, 3, 4), replicate(3, 7, 4)}).plan();
  REQUIRE(plan.num_stages() == 1);
  CHECK(plan.stages[0].replicas == 4);
  CHECK(plan.stages[0].blocks.empty());
}

TEST_CASE("a split stage divides layers by the pattern that communicates less", "[planners]") {
  Job job({replicate(0, 6, 4), split(6, 7, 4)}, 2);
  const Plan last = job.plan();
  REQUIRE(last.stages[1].blocks.size() == 1);
  CHECK(last.stages[1].tensor_parallel == 4);
  CHECK(last.stages[1].blocks[0].pattern == TensorPattern::sp1);
  job.profile.layers.back().tensor_parallel_allreduce_bytes = 1.0;  // the profile knows what is
                                                                    // reduced
  CHECK(job.plan().stages[1].blocks.empty());

  // First of two: sp1 gathers 10 bytes, sp2 would all-reduce them.
  Job first({split(0, 1, 4), replicate(1, 7, 4)}, 2);
  first.profile.layers[0].rows.push_back({"v", 4, 1.0, {0.1, 0.1, 0.1}, true});
  CHECK(first.plan().stages[0].blocks.at(0).pattern == TensorPattern::sp1);
  // In the middle: sp1 all-reduces the 1000 bytes of its input, sp2 gathers them and
  // all-reduces 10.
  Job middle({replicate(0, 3, 4), split(3, 4, 4), replicate(4, 7, 8)}, 4);
  middle.profile.layers[3].rows.push_back({"v", 4, 1.0, {0.1, 0.1, 0.1}, true});
  middle.profile.layers[2].output_bytes = 1000.0;
  CHECK(middle.plan().stages[1].blocks.at(0).pattern == TensorPattern::sp2);
}

TEST_CASE("auto follows annotations", "[planners]") {
  const Job job({replicate(0, 3, 2), replicate(3, 7, 2)});
  const SearchResult result = search_plan("auto", job.instance(), job.restrictions, "x");
  REQUIRE(result.plan);
  CHECK(result.plan->planner == "auto");
  CHECK(result.plan->predicted->iteration_seconds <= job.plan().predicted->iteration_seconds);
  REQUIRE(result.plan->num_stages() == 2);
  CHECK(result.plan->stages[0].layers == std::vector<Interval>{{0, 3}});
}

TEST_CASE("shared parts that do not fit say by how much", "[planners]") {
  Job job({replicate(0, 6, 4), split(6, 7, 4)});
  job.cluster = nodes_of(1, 4, 40000.0);  // 960 bytes of the features' state, 40,000 of a quarter
                                          // of the classifier
  const SearchResult result = job.search();
  CHECK_FALSE(result.plan);
  CHECK(result.why_not ==
        "with micro-batches of 4 device 0 (v) needs 40 KiB of its 39.1 KiB, 960 B too much");
}

TEST_CASE("annotations that contradict each other are refused with their place", "[planners]") {
  Job job({replicate(0, 3, 2), replicate(2, 5, 2)});
  job.restrictions.places["annotate[1]"] = "x.toml:9";
  CHECK(job.refused() ==
        "x.toml:9: layers = [2, 5] overlap [0, 3] of the annotation above (a layer belongs to one "
        "TaskGraph); begin "
        "with layer 3");
  CHECK(Job({replicate(3, 5, 2), replicate(0, 3, 2)}).refused() ==
        "x: layers = [0, 3] come before [3, 5] of the annotation above (TaskGraphs follow one "
        "another as the layers "
        "do); list the annotations in layer order");
  CHECK(Job({replicate(0, 8, 2)}).refused() ==
        "x: layers = [0, 8] are not layers of the model (it has 7 layers, numbered from 0); give "
        "the first layer and "
        "the one behind the last");
  CHECK(Job({replicate(0, 7, 5)}).refused() ==
        "x: devices = 5 are more than there are (the cluster has 4); use at most 4");
  CHECK(Job({replicate(0, 7, 3)}).refused() ==
        "x: the annotations ask for 3 devices (the cluster has 4, which is no multiple: the "
        "pipeline cannot be "
        "replicated on the rest); let them add up to a divisor of 4");
  CHECK(Job({replicate(0, 6, 4), split(6, 7, 2)}).refused() ==
        "x: devices = 2 beside 4 (parts that share the 4 devices have to use the same number of "
        "them); use the same "
        "number, or fewer devices in all for a pipeline");
  CHECK(Job({split(5, 7, 4)}).refused() ==
        "x: split over 4 devices cannot be used (the profile has no rows of layer \"5\" at that "
        "degree on every kind "
        "of device); degrees that it has: 1");
  CHECK(Job({split(6, 7, 4)}).refused() ==
        "x: layer 5 cannot be added to a part beside it (the profile has no rows of \"5\" at the "
        "degree of the part); "
        "annotate it too, with replicate");
}

TEST_CASE("annotations that contradict fixed degrees are refused", "[planners]") {
  Job stages({replicate(0, 3, 2), replicate(3, 7, 2)});
  stages.restrictions.pipeline = 4;
  CHECK(stages.refused() ==
        "x: pipeline = 4 contradicts the annotations (they make 2 stages); use \"auto\", or other "
        "annotations");
  Job replicas({replicate(0, 3, 2), replicate(3, 7, 2)});
  replicas.restrictions.data = 4;
  CHECK(replicas.refused() ==
        "x: data = 4 contradicts the annotations (layers [0, 3] have 2 there); use \"auto\", or "
        "other annotations");
}

TEST_CASE("annotations come from the configuration with their lines", "[planners]") {
  const Config config = parse_config(
      "[model]\nname = \"gpt2\"\n[[model.annotate]]\nlayers = [0, 3]\ndevices = "
      "2\n\n[[model.annotate]]\n"
      "layers = [3, 6]\nprimitive = \"split\"\ndevices = 2\n[data]\ntrain = \"x\"\n",
      "c.toml", ".");
  const Restrictions restrictions = restrictions_of(config);
  REQUIRE(restrictions.annotations.size() == 2);
  CHECK(restrictions.places.at("annotate[0]") == "c.toml:3");
  CHECK(restrictions.places.at("annotate[1]") == "c.toml:7");
}

}  // namespace
}  // namespace pptrain
