// Labels of stages and their frontiers against all ways to put stages together.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "cost/cost.hpp"
#include "planners/divide/in_flight.hpp"
#include "planners/divide/stage_counts.hpp"
#include "planners/divide/stage_label.hpp"
#include "planners/meshes/cut_pairs.hpp"
#include "planners/meshes/frontier.hpp"
#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Whole numbers, so that sums are exact and ties are many.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int number(int most) { return static_cast<int>(random_() % (static_cast<unsigned>(most) + 1)); }
  StageLabel stage() {
    const double seconds = number(6);
    return {seconds + number(2), seconds, static_cast<double>(number(5))};
  }

 private:
  std::mt19937 random_;
};

bool same(const StageLabel& a, const StageLabel& b) {
  return a.sum == b.sum && a.slowest == b.slowest && a.gradient == b.gradient;
}

TEST_CASE("a label covers another one if and only if no other stages make it slower") {
  Draw draw(1);
  int covering = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const PipelineForm form(1 + draw.number(4));
    const StageLabel a = draw.stage();
    const StageLabel b = draw.stage();
    const double slack = draw.number(2);
    double most_lost = -std::numeric_limits<double>::infinity();
    for (int slowest = 0; slowest <= 7; ++slowest) {
      for (int gradient = 0; gradient <= 6; ++gradient) {
        const StageLabel others = {5.0, static_cast<double>(slowest),
                                   static_cast<double>(gradient)};
        most_lost = std::max(most_lost,
                             form.seconds(combined(a, others)) - form.seconds(combined(b, others)));
      }
    }
    CAPTURE(trial);
    REQUIRE(form.covers(a, b) == (most_lost <= 0.0));
    REQUIRE(form.covers(a, b, slack) == (most_lost <= slack));
    covering += form.covers(a, b) ? 1 : 0;
  }
  CHECK(covering > 300);
  CHECK(covering < 2700);
}

/// What is left of labels that come one after another, by the definition.
std::vector<StageLabel> plain_frontier(const std::vector<StageLabel>& labels,
                                       const PipelineForm& form) {
  std::vector<StageLabel> left;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    bool needed = true;
    for (std::size_t j = 0; j < labels.size(); ++j) {
      // The first of labels that cover each other stays.
      if (j != i && form.covers(labels[j], labels[i]) &&
          (j < i || !form.covers(labels[i], labels[j])))
        needed = false;
    }
    if (needed) left.push_back(labels[i]);
  }
  return left;
}

TEST_CASE("a frontier holds the labels that none covers, in the order in which they came") {
  Draw draw(2);
  std::size_t most = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const PipelineForm form(1 + draw.number(3));
    const auto covers = [&form](const StageLabel& a, const StageLabel& b) {
      return form.covers(a, b);
    };
    std::vector<StageLabel> labels(static_cast<std::size_t>(1 + draw.number(40)));
    for (StageLabel& label : labels) label = combined(draw.stage(), draw.stage());
    std::vector<StageLabel> by_value;
    LabelPool<StageLabel> pool;
    std::vector<int> by_index;
    for (const StageLabel& label : labels) {
      const bool admitted = admit(by_value, label, covers);
      if (admitted) by_value.push_back(label);
      REQUIRE(pool.insert(by_index, label, covers) == admitted);
    }
    const std::vector<StageLabel> plain = plain_frontier(labels, form);
    CAPTURE(trial);
    REQUIRE(std::equal(by_value.begin(), by_value.end(), plain.begin(), plain.end(), same));
    REQUIRE(std::equal(
        by_index.begin(), by_index.end(), plain.begin(), plain.end(),
        [&pool](int index, const StageLabel& label) { return same(pool[index], label); }));
    most = std::max(most, plain.size());
  }
  CHECK(most > 3);
}

/// The least seconds of one choice of each step, with the label of the steps so far.
double least_of_all(const std::vector<std::vector<StageLabel>>& steps, const PipelineForm& form,
                    std::size_t step, const StageLabel& so_far) {
  if (step == steps.size()) return form.seconds(so_far);
  double least = std::numeric_limits<double>::infinity();
  for (const StageLabel& choice : steps[step]) {
    least = std::min(least, least_of_all(steps, form, step + 1, combined(so_far, choice)));
  }
  return least;
}

TEST_CASE("frontiers step by step hold the best of all chains of stages") {
  Draw draw(3);
  for (int trial = 0; trial < 200; ++trial) {
    const PipelineForm form(1 + draw.number(9));
    std::vector<std::vector<StageLabel>> steps(static_cast<std::size_t>(1 + draw.number(4)));
    for (auto& choices : steps) {
      choices.resize(static_cast<std::size_t>(1 + draw.number(4)));
      for (StageLabel& choice : choices) choice = draw.stage();
    }
    std::vector<StageLabel> frontier = {StageLabel{}};
    for (const auto& choices : steps) {
      std::vector<StageLabel> next;
      for (const StageLabel& label : frontier) {
        for (const StageLabel& choice : choices) {
          const StageLabel both = combined(label, choice);
          if (admit(next, both,
                    [&form](const auto& a, const auto& b) { return form.covers(a, b); })) {
            next.push_back(both);
          }
        }
      }
      frontier = next;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const StageLabel& label : frontier) least = std::min(least, form.seconds(label));
    CAPTURE(trial);
    REQUIRE(least == least_of_all(steps, form, 0, {}));
  }
}

TEST_CASE("numbers of stages count as pipeline and memory have it") {
  const AutoInt any;
  for (int a = 0; a < 6; ++a) {
    for (int b = 0; b < 6; ++b) {
      CAPTURE(a, b);
      CHECK(StageCounts::fewer().covers(a, b) == (a <= b));
      CHECK(StageCounts::of(4, false).covers(a, b) == (a == b));
      CHECK(StageCounts::of(4, true, 2).covers(a, b) == (a == b));
      CHECK(StageCounts::of(any, false, 2).covers(a, b));
      CHECK(StageCounts::of(any, true).covers(a, b) == (a <= b));
      // Behind three stages as many micro-batches are stored as behind two.
      CHECK(StageCounts::of(any, true, 2).covers(a, b) == (a <= b || b >= 2));
    }
  }
}

TEST_CASE("micro-batches stored behind some stages are those of a plan") {
  for (const char* schedule : {"1f1b", "gpipe"}) {
    for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) {
      const int stages = 5;
      const InFlight in_flight(schedule, micro_batches, stages);
      Plan plan;
      plan.micro_batches = micro_batches;
      plan.schedule.name = schedule;
      plan.stages.resize(stages);
      for (int behind = 0; behind < stages; ++behind) {
        CAPTURE(schedule, micro_batches, behind);
        const auto stored =
            static_cast<double>(micro_batches_in_flight(plan, StageId(stages - 1 - behind)));
        CHECK(in_flight.behind(behind) == stored);
        CHECK((behind >= in_flight.most_behind()) == (stored == in_flight.behind(stages - 1)));
      }
    }
  }
}

TEST_CASE("a cut takes as long as the slowest of all pairs across it") {
  Draw draw(4);
  for (int trial = 0; trial < 500; ++trial) {
    CutPairs pairs;
    std::vector<std::pair<double, Link>> all;
    for (int i = draw.number(8); i >= 0; --i) {
      all.emplace_back(draw.number(3),
                       Link{1.0 + draw.number(3), static_cast<double>(draw.number(2))});
      pairs.add(all.back().first, all.back().second);
    }
    for (const double bytes : {0.0, 1.0, 2.0, 64.0}) {
      double slowest = 0.0;
      for (const auto& [samples, link] : all) {
        slowest = std::max(slowest, 2.0 * (samples * bytes / link.bandwidth + link.latency));
      }
      CAPTURE(trial, bytes);
      CHECK(pairs.seconds(bytes) == slowest);
    }
  }
}

}  // namespace
}  // namespace pptrain
