// Losses, gradient norms and per-tensor gradient norms of the recorded PyTorch runs, on every grid.
#include "reference.hpp"

#include "support/catch.hpp"

using namespace pptrain;
using namespace pptrain::test;

namespace {

const std::vector<std::string> runs = {"untied", "tied", "untied_sgd", "untied_sched"};

/// A grid with its micro-batch size and schedule.
struct Case {
  int pipeline;
  int data;
  int tensor;
  std::int64_t micro_batch_size;
  std::string schedule;
  int chunks = 1;
};

void check_case(MPI_Comm comm, const Reference& reference, const Case& c) {
  INFO("pp " << c.pipeline << " dp " << c.data << " tmp " << c.tensor << " micro-batch "
             << c.micro_batch_size << " " << c.schedule << " V " << c.chunks);
  const Plan plan =
      reference.plan(c.pipeline, c.data, c.tensor, c.micro_batch_size, c.schedule, c.chunks);
  const Curve curve =
      train_reference(comm, reference, plan, static_cast<int>(reference.config.training.steps));
  check_curve(curve, reference);
}

/// The first `size` ranks; MPI_COMM_NULL on the others.
MPI_Comm first_ranks(int size) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &comm);
  return comm;
}

void check_cases(const std::string& run, const std::vector<Case>& cases) {
  const Reference reference(run);
  INFO(run);
  for (const Case& c : cases) {
    MPI_Comm comm = first_ranks(c.pipeline * c.data * c.tensor);
    if (comm == MPI_COMM_NULL) continue;
    check_case(comm, reference, c);
    MPI_Comm_free(&comm);
  }
}

/// Every grid of so many stages and replicas and at most 16 ranks that the model's six layers
/// admit, all micro-batch sizes.
std::vector<Case> all_cases(int pipeline, int data, const std::vector<Kind>& schedules) {
  std::vector<Case> cases;
  for (const int tensor : {1, 2, 4}) {
    if (pipeline * data * tensor > 16) continue;
    for (std::int64_t micro_batch_size = data; micro_batch_size <= 8; micro_batch_size *= 2) {
      for (const Kind& kind : schedules) {
        for (const int chunks : kind.chunks) {
          if (pipeline * chunks > 6) continue;
          cases.push_back({pipeline, data, tensor, micro_batch_size, kind.schedule, chunks});
        }
      }
    }
  }
  return cases;
}

/// All grids in sections, so that a part of them can be run: -c "pp 2" -c "dp 4".
void check_grids(const std::string& run, const std::vector<Kind>& schedules) {
  for (int pipeline = 1; pipeline <= 6; ++pipeline) {
    DYNAMIC_SECTION("pp " << pipeline) {
      for (const int data : {1, 2, 4, 8}) {
        DYNAMIC_SECTION("dp " << data) { check_cases(run, all_cases(pipeline, data, schedules)); }
      }
    }
  }
}

}  // namespace

TEST_CASE("one rank meets the reference runs", "[np1]") {
  for (const std::string& run : runs)
    check_cases(run, {{1, 1, 1, 8, "1f1b"}, {1, 1, 1, 2, "gpipe"}, {1, 1, 1, 1, "1f1b"}});
}

TEST_CASE("two ranks meet the reference runs", "[np2]") {
  for (const std::string& run : runs) {
    check_cases(
        run,
        {{1, 2, 1, 4, "1f1b"}, {2, 1, 1, 2, "1f1b"}, {2, 1, 1, 4, "gpipe"}, {1, 1, 2, 8, "1f1b"}});
  }
}

TEST_CASE("four ranks meet the reference runs", "[np4]") {
  for (const std::string& run : runs) {
    check_cases(run, {{4, 1, 1, 1, "1f1b"},
                      {2, 2, 1, 2, "gpipe"},
                      {2, 1, 2, 4, "1f1b"},
                      {1, 1, 4, 8, "1f1b"},
                      {3, 1, 1, 2, "1f1b"}});
  }
}

TEST_CASE("eight ranks meet the reference runs", "[np8]") {
  for (const std::string& run : runs)
    check_cases(run, {{2, 2, 2, 4, "1f1b"}, {4, 2, 1, 2, "gpipe"}, {1, 8, 1, 8, "1f1b"}});
}

TEST_CASE("sixteen ranks meet the reference runs", "[np16]") {
  check_cases("untied", {{4, 2, 2, 2, "1f1b"}, {2, 8, 1, 8, "gpipe"}});
  check_cases("tied", {{4, 2, 2, 4, "1f1b"}, {4, 1, 4, 1, "1f1b"}});
}

TEST_CASE("every schedule meets the reference runs on one rank and on two", "[np2]") {
  check_cases("tied", {{1, 1, 1, 2, "zeropp", 3}, {1, 1, 1, 2, "zb-v", 2}, {1, 1, 1, 1, "zb-h1"}});
  for (const std::string run : {"untied", "tied"}) {
    check_cases(run, {{2, 1, 1, 1, "dapple-b"},
                      {2, 1, 1, 1, "interleaved-1f1b", 3},
                      {2, 1, 1, 2, "breadth-first", 2},
                      {2, 1, 1, 1, "zb-h1"},
                      {2, 1, 1, 1, "zb-h2"},
                      {2, 1, 1, 1, "zb-v", 2},
                      {2, 1, 1, 1, "zeropp", 3},
                      {2, 1, 1, 2, "auto"},
                      {2, 1, 1, 2, "auto", 2}});
  }
}

TEST_CASE("every schedule meets the reference runs on eight ranks", "[np8]") {
  check_cases("tied", {{2, 2, 2, 2, "zb-v", 2},
                       {2, 2, 2, 2, "zeropp", 2},
                       {4, 2, 1, 2, "zb-h2"},
                       {3, 2, 1, 2, "zb-v", 2}});
  check_cases("untied", {{3, 2, 1, 2, "interleaved-1f1b", 2},
                         {2, 4, 1, 4, "breadth-first", 3},
                         {6, 1, 1, 1, "zb-h1"}});
}

TEST_CASE("every schedule meets the reference runs on sixteen ranks", "[np16]") {
  check_cases("tied", {{2, 4, 2, 4, "zb-v", 2}, {4, 4, 1, 4, "dapple-b"}});
  check_cases("untied_sched", {{2, 2, 4, 2, "zeropp", 3}});
}

TEST_CASE("every grid meets the reference runs", "[np16][long]") {
  for (const std::string& run : runs) {
    DYNAMIC_SECTION(run) { check_grids(run, {{"gpipe", {1}}, {"1f1b", {1}}}); }
  }
}

TEST_CASE("every other schedule meets a reference run on every grid", "[np16][long]") {
  std::vector<Kind> others = kinds;
  std::erase_if(
      others, [](const Kind& kind) { return kind.schedule == "gpipe" || kind.schedule == "1f1b"; });
  check_grids("tied", others);
}

TEST_CASE("two runs of one plan are bitwise equal", "[np8]") {
  const Reference reference("tied");
  for (const Case& c : std::vector<Case>{{2, 2, 2, 4, "1f1b"},
                                         {2, 2, 2, 2, "zb-v", 2},
                                         {2, 4, 1, 4, "zeropp", 3},
                                         {4, 2, 1, 2, "zb-h1"}}) {
    const Plan plan =
        reference.plan(c.pipeline, c.data, c.tensor, c.micro_batch_size, c.schedule, c.chunks);
    const Curve first = train_reference(MPI_COMM_WORLD, reference, plan, 10);
    const Curve second = train_reference(MPI_COMM_WORLD, reference, plan, 10);
    CHECK(first.losses == second.losses);
    CHECK(first.grad_norms == second.grad_norms);
  }
}
