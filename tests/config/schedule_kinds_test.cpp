#include "config/schedule_kinds.hpp"

#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

TEST_CASE("schedules are found by their names, of which that of the open one is last",
          "[config][schedule]") {
  REQUIRE(schedule_names().size() == schedule_kinds().size());
  for (std::size_t k = 0; k < schedule_kinds().size(); ++k) {
    CHECK(schedule_names()[k] == schedule_kinds()[k].name);
    CHECK(&schedule_kind(schedule_names()[k]) == &schedule_kinds()[k]);
    CHECK(is_open(schedule_names()[k]) == (k + 1 == schedule_kinds().size()));
  }
  CHECK(complaint_of([] {
          schedule_kind("gpip");
        }).starts_with("schedule: unknown schedule \"gpip\" (known schedules: gpipe, 1f1b, "));
}

TEST_CASE("chunks go round the ranks, or down and up again", "[config][schedule]") {
  std::vector<int> loop, v_shape;
  for (int chunk = 0; chunk < 8; ++chunk) {
    loop.push_back(rank_of_chunk(ChunkPlacement::loop, 4, chunk));
    v_shape.push_back(rank_of_chunk(ChunkPlacement::v_shape, 4, chunk));
  }
  CHECK(loop == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(v_shape == std::vector<int>{0, 1, 2, 3, 3, 2, 1, 0});
}

/// What each of four stages stores of so many micro-batches, from the first stage on.
std::vector<std::int64_t> stored(const std::string& schedule, std::int64_t micro_batches,
                                 std::int64_t chunks = 1, std::int64_t unit = 0) {
  std::vector<std::int64_t> all;
  for (std::int64_t left = 4; left > 0; --left)
    all.push_back(most_stored(schedule_kind(schedule), {4, left, chunks, micro_batches, unit}));
  return all;
}

TEST_CASE("stages store the micro-batches that their schedule has on its way",
          "[config][schedule]") {
  using Stored = std::vector<std::int64_t>;
  CHECK(stored("gpipe", 16) == Stored{16, 16, 16, 16});
  CHECK(stored("1f1b", 16) == Stored{4, 3, 2, 1});
  CHECK(stored("1f1b", 2) == Stored{2, 2, 2, 1});  // there are no more
  CHECK(stored("dapple-b", 16) == Stored{7, 5, 3, 1});
  // 4 + 7, 5, 3 and 1 chunks of two to a micro-batch.
  CHECK(stored("interleaved-1f1b", 16, 2) == Stored{6, 5, 4, 3});
  CHECK(stored("breadth-first", 16, 2) == Stored{16, 16, 16, 16});
  CHECK(stored("zb-h1", 16) == Stored{4, 4, 4, 4});
  CHECK(stored("zb-h2", 16) == Stored{8, 8, 8, 8});
  CHECK(stored("zb-h2", 6) == Stored{6, 6, 6, 6});
  CHECK(stored("zb-v", 16, 2) == Stored{4, 4, 4, 4});
  CHECK(stored("zeropp", 16) == Stored{7, 7, 7, 7});
  CHECK(stored("zeropp", 16, 1, 5) == Stored{5, 5, 5, 5});
  CHECK(stored("auto", 16) == Stored{16, 16, 16, 16});
}

/// Calls `visit` for every stage of pipelines of up to four stages, in chunks that a schedule has.
template <class Visit>
void for_each_place(const ScheduleKind& kind, const Visit& visit) {
  for (std::int64_t stages = 1; stages <= 4; ++stages) {
    for (std::int64_t left = 1; left <= stages; ++left) {
      for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
        if (kind.chunks != 0 && chunks != kind.chunks) continue;
        for (std::int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches)
          visit(StagePlace{stages, left, chunks, micro_batches, 0});
      }
    }
  }
}

TEST_CASE("schedules say truly what their memory depends on", "[config][schedule]") {
  for (const ScheduleKind& kind : schedule_kinds()) {
    INFO(kind.name);
    for_each_place(kind, [&](const StagePlace& place) {
      const std::int64_t stored = kind.stored(place);
      CHECK(stored >= 1);
      // Searches from the last stage to the first know no more than these two.
      if (kind.planned_stage_by_stage)
        CHECK(stored == kind.stored({.left = place.left, .micro_batches = place.micro_batches}));
      if (!kind.roomier.empty()) CHECK(schedule_kind(kind.roomier).stored(place) >= stored);
    });
  }
}

}  // namespace
}  // namespace pptrain
