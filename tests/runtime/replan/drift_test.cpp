// Ranks that fall behind: who is named, how the cluster is seen then, and a job that changes its
// plan under way.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/timing.hpp"
#include "cluster/read.hpp"
#include "config/read.hpp"
#include "cost/instances.hpp"
#include "kernels/kernels.hpp"
#include "runtime/job_folder.hpp"
#include "runtime/measure/profiler.hpp"
#include "runtime/replan/drift_watch.hpp"
#include "runtime/replan/slowed_devices.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

/// What each pass of a layer takes per sample as the profile has it, off as profiles are, and what
/// it takes: so much that a new plan is worth any time that a search for it takes.
constexpr double pass_seconds = 0.4;
constexpr double true_pass_seconds = 1.0;
constexpr int slow_rank = 2;
constexpr int micro_batches = 4;
constexpr int slow_from_step = 12;

/// The time of a rank that computes only what it is told that it does, in no time of the machine;
/// it waits as ever.
class CountedTime final : public TimeSource {
 public:
  CountedTime() { set_time_source(this); }
  ~CountedTime() override { set_time_source(nullptr); }
  CountedTime(const CountedTime&) = delete;
  CountedTime& operator=(const CountedTime&) = delete;

  double wall_seconds() override { return worked_ + slept_; }
  double thread_cpu_seconds() override { return worked_; }
  void sleep_until(double time) override {
    const double seconds = std::max(0.0, time - wall_seconds());
    TimeSource::sleep_until(TimeSource::wall_seconds() + seconds);
    slept_ += seconds;
  }
  void work(double seconds) { worked_ += seconds; }

 private:
  double worked_ = 0.0;
  double slept_ = 0.0;
};

/// A real layer that takes a known time; on one rank from some step on a longer one.
class TimedLayer final : public LayerModule {
 public:
  TimedLayer(std::unique_ptr<LayerModule> real, CountedTime& time)
      : real_(std::move(real)), time_(time) {}

  static inline bool is_slow = false;
  static inline double slowdown = 1.0;  ///< of a slow rank

  Tensor forward(Batch& batch, Tensor input, SavedPtr* saved) override {
    if (saved != nullptr && ++num_calls_ > micro_batches * slow_from_step)
      is_slow = world_rank() == slow_rank;
    work(batch);
    return real_->forward(batch, std::move(input), saved);
  }
  Tensor backward_input(const Batch& batch, Tensor gradient, Saved& saved) override {
    work(batch);
    return real_->backward_input(batch, std::move(gradient), saved);
  }
  void backward_weight(const Batch& batch, Saved& saved) override {
    work(batch);
    real_->backward_weight(batch, saved);
  }

 private:
  void work(const Batch& batch) {
    time_.work(true_pass_seconds * static_cast<double>(batch.samples) * (is_slow ? slowdown : 1.0));
  }

  std::unique_ptr<LayerModule> real_;
  CountedTime& time_;
  int num_calls_ = 0;
};

/// Trains with such layers, of which those of the slow rank become as many times as slow.
void train_timed(const JobOptions& options, double slowdown) {
  TimedLayer::is_slow = false;
  TimedLayer::slowdown = slowdown;
  CountedTime time;
  train(MPI_COMM_WORLD, options, [&time](const Layer& layer, ChunkId chunk, LayerContext& context) {
    return std::make_unique<TimedLayer>(make_layer(layer, chunk, context), time);
  });
}

/// What the layers take before one rank falls behind.
Profile timed_profile(const Config& config) {
  const Model model = build_model(config.model, config.training, "test");
  Profile profile = layer_sizes(config, model);
  for (ProfileLayer& layer : profile.layers) {
    layer.rows = {{"host", 1, 1.0, {pass_seconds, pass_seconds, pass_seconds}, true}};
  }
  return profile;
}

/// The job on four devices with cores of their own, timed.
std::vector<std::string> timed_job(const JobFolder& folder) {
  const std::string cluster = folder.path() + "/cluster.toml";
  const std::string profile = folder.path() + "/profile.json";
  const std::vector<std::string> settings = {"model.layers=6",
                                             "training.steps=40",
                                             "optimizer.learning_rate=1e-3",
                                             "training.micro_batch_size=2",
                                             "cluster.file=" + cluster,
                                             "profile.file=" + profile,
                                             "planner.drift_window=5"};
  if (world_rank() == 0) {
    Cluster four = nodes_of(1, 4, 1e9);
    four.groups[0].link = {1e10, 1e-6};
    four.device_kinds[0].name = four.groups[0].device_kind = "host";
    four.finish("made");
    std::ofstream(cluster) << write_cluster(four);
    std::ofstream(profile) << write_profile(
        timed_profile(read_config(folder.path() + "/job.toml", {settings[0], settings[3]})));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return settings;
}

/// What the rank that computes longest in a step computes, of these steps on average.
double most_computed(const std::vector<double>& by_step_and_rank, std::size_t begin,
                     std::size_t end) {
  constexpr std::size_t ranks = 4;
  REQUIRE(by_step_and_rank.size() >= end * ranks);
  double sum = 0.0;
  for (std::size_t step = begin; step < end; ++step) {
    const double* first = by_step_and_rank.data() + step * ranks;
    sum += *std::max_element(first, first + ranks);
  }
  return sum / static_cast<double>(end - begin);
}

std::vector<int> ranks_of(const std::vector<DriftingRank>& drifting) {
  std::vector<int> ranks;
  for (const DriftingRank& d : drifting) ranks.push_back(d.rank);
  return ranks;
}

}  // namespace

TEST_CASE(
    "a rank drifts that falls behind its calibrated prediction, not one that is slow with most "
    "others",
    "[np1]") {
  DriftWatch shared(1.3, CoreUse::shared);
  shared.restart({1.0, 2.0, 1.0, 0.0});
  CHECK(shared.end_window({3.0, 3.0, 9.0, 0.1}).empty());  // the first window calibrates each
  CHECK(ranks_of(shared.end_window({3.0, 4.2, 9.0, 0.1})) == std::vector<int>{1});
  CHECK(shared.end_window({3.0, 4.2, 9.0, 0.1}).front().factor == Approx(1.4));
  CHECK(shared.end_window({6.0, 6.6, 18.0, 0.1}).empty());  // all of them
  CHECK(shared.end_window({6.0, 9.0, 18.0, 0.1}).front().factor == Approx(1.5));
  shared.restart({1.0, 1.0, 1.0, 1.0});
  CHECK(shared.end_window({1.0, 5.0, 1.0, 1.0}).empty());

  DriftWatch own(1.3, CoreUse::own);
  own.restart({1.0, 2.0, 1.0, 1.0});
  const std::vector<DriftingRank> found = own.end_window({2.0, 4.0, 5.0, 1.8});  // slow from the
                                                                                 // start
  CHECK(ranks_of(found) == std::vector<int>{2});
  CHECK(found.front().factor == Approx(2.5));
  CHECK(found.front().expected_seconds == Approx(2.0));
}

TEST_CASE("a slow device becomes a kind of its own and every link stays", "[np1]") {
  Cluster cluster = nodes_of(3, 4);
  cluster.groups[0].cores = 2;
  cluster.finish("made");
  Profile profile;
  profile.model = "made";
  profile.layers.push_back(layer("a", 1.0, 2.0, 3.0));
  const std::string kind = cluster.device_kinds[0].name;
  profile.layers[0].update_seconds[{kind, 1}] = 0.5;
  const SlowedDevices slowed =
      slow_down(cluster, profile, {{DeviceId(2), 2.0}, {DeviceId(7), 2.0}, {DeviceId(8), 3.0}});
  REQUIRE(slowed.cluster.num_devices() == 12);
  for (int a = 0; a < 12; ++a) {
    const double expected = a == 2 || a == 7 ? 2.0 : a == 8 ? 3.0 : 1.0;
    const std::string& of_device = slowed.cluster.kind_of(DeviceId(a)).name;
    CHECK(slowed.profile.seconds(0, of_device, 1, 1.0)->total() == Approx(6.0 * expected));
    CHECK(slowed.profile.update_seconds(0, of_device, 1) == Approx(0.5 * expected));
    CHECK(slowed.cluster.kind_of(DeviceId(a)).memory == cluster.kind_of(DeviceId(a)).memory);
    for (int b = 0; b < 12; ++b) {
      if (a == b) continue;
      CHECK(slowed.cluster.bandwidth(DeviceId(a), DeviceId(b)) ==
            cluster.bandwidth(DeviceId(a), DeviceId(b)));
      CHECK(slowed.cluster.latency(DeviceId(a), DeviceId(b)) ==
            cluster.latency(DeviceId(a), DeviceId(b)));
    }
  }
  CHECK(slowed.cluster.device_kinds.size() == 3);
}

TEST_CASE("a rank that becomes half as slow again is named, and no other", "[np4]") {
  const JobFolder folder;
  train_timed(folder.options(timed_job(folder)), 1.5);
  if (world_rank() != 0) return;
  const std::vector<double> steps = read_series(folder.run() / "metrics.h5", "/drift/step");
  const std::vector<double> ranks = read_series(folder.run() / "metrics.h5", "/drift/rank");
  const std::vector<double> factors = read_series(folder.run() / "metrics.h5", "/drift/factor");
  REQUIRE_FALSE(ranks.empty());
  CHECK(ranks == std::vector<double>(ranks.size(), slow_rank));
  for (const double factor : factors) CHECK(factor == Approx(1.5));
  CHECK(steps.front() == 16);
  // The slow rank is named once, however often it is found to be slow.
  REQUIRE(ranks.size() > 1);
  std::ifstream log(folder.run() / "log.txt");
  std::vector<std::string> named;
  for (std::string line; std::getline(log, line);) {
    if (line.find(" behind") != std::string::npos) named.push_back(line);
  }
  REQUIRE(named.size() == 2);
  CHECK_THAT(named[0], Catch::Contains(fmt::format("step 16: rank {} ", slow_rank)));
  CHECK_THAT(named[1], Catch::Contains(fmt::format(
                           "rank {} was behind in {} of 7 windows of 5 steps, up to 1.50 times",
                           slow_rank, ranks.size())));
}

TEST_CASE(
    "a job with a rank that falls behind names it, changes its plan, and has less to do with the "
    "same losses",
    "[np4]") {
  const JobFolder folder;
  std::vector<std::string> settings = timed_job(folder);
  // The reference: one rank, which is not slow.
  Plan one = uniform_plan(std::vector<Interval>{{0, 8}}, 1, 1, 8, 2, "1f1b");
  one.device_kinds = {{"host", 4}};
  if (world_rank() == 0) std::ofstream(folder.path() + "/one.json") << write_plan(one);
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<std::string> alone = settings;
  alone.push_back("parallelism.plan=" + folder.path() + "/one.json");
  alone.push_back("job.output=" + folder.path() + "/alone");
  train(MPI_COMM_WORLD, folder.options(alone));

  settings.push_back("planner.replan=on-drift");
  train_timed(folder.options(settings), 4.0);
  if (world_rank() != 0) return;

  const fs::path metrics = folder.run() / "metrics.h5";
  const std::vector<double> losses = read_series(metrics, "/steps/loss");
  const std::vector<double> reference =
      read_series(folder.run("alone") / "metrics.h5", "/steps/loss");
  REQUIRE(losses.size() == 40);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(std::abs(losses[i] - reference[i]) <= 5e-6);
  }

  const std::vector<double> ranks = read_series(metrics, "/drift/rank");
  const std::vector<double> factors = read_series(metrics, "/drift/factor");
  REQUIRE_FALSE(ranks.empty());
  CHECK(ranks.front() == slow_rank);
  CHECK(factors.front() == Approx(4.0));
  CHECK(read_series(metrics, "/drift/step").front() == 16);
  const Plan first = read_plan(folder.run() / "plan.json");
  const Plan second = read_plan(folder.run() / "plan-after-16.json");
  CHECK_FALSE(same_plan(first, second));

  const std::vector<double> seconds = read_series(metrics, "/ranks/compute_seconds");
  const double slow = most_computed(seconds, slow_from_step + 1, 16);
  const double after = most_computed(seconds, 18, 40);
  INFO("before " << most_computed(seconds, 2, slow_from_step) << " s, slow " << slow << " s, after "
                 << after << " s");
  CHECK(after < 0.9 * slow);
}
