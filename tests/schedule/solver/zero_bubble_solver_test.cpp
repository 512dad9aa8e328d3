// Zero-bubble orders against an integer programme: is there any order of the same pipeline, within
// the same memory, that ends before a given time? CBC says no for every time below 1/1.01 of ours.
#include <coin/Cbc_C_Interface.h>

#include <cmath>
#include <memory>
#include <random>

#include "schedule/orders.hpp"
#include "schedule/replay.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

enum Kind { f, b, w, num_kinds };

/// A pipeline of one chunk per rank, integer times: x(task, t) = 1 where the task starts at t.
/// Micro-batches are alike, so that they may be taken in order.
class TimeIndexedProgramme {
 public:
  TimeIndexedProgramme(const PipelineShape& shape, int horizon)
      : shape_(shape), horizon_(horizon), model_(Cbc_newModel(), Cbc_deleteModel) {
    Cbc_setParameter(model_.get(), "logLevel", "0");
    find_windows();
    add_columns();
    for (int r = 0; r < shape_.ranks; ++r) {
      add_one_start_rows(r);
      add_one_at_a_time_rows(r);
      add_memory_rows(r);
      add_order_rows(r);
    }
  }

  enum class Answer { no_order, an_order, unknown };
  Answer solve(double seconds) {
    if (impossible_) return Answer::no_order;
    Cbc_setMaximumSeconds(model_.get(), seconds);
    Cbc_solve(model_.get());
    if (Cbc_isProvenInfeasible(model_.get()) != 0) return Answer::no_order;
    return Cbc_bestSolution(model_.get()) != nullptr && Cbc_numberSavedSolutions(model_.get()) > 0
               ? Answer::an_order
               : Answer::unknown;
  }

 private:
  using Terms = std::vector<std::pair<int, double>>;  // column, coefficient

  int m() const { return shape_.micro_batches; }
  int number(int rank, Kind kind, int i) const { return (rank * num_kinds + kind) * m() + i; }
  int seconds(int rank, Kind kind) const {
    const TaskSeconds all = shape_.seconds_of(rank);
    return static_cast<int>(kind == f   ? all.forward
                            : kind == b ? all.backward_input
                                        : all.backward_weight);
  }
  int latency(int rank) const { return static_cast<int>(shape_.cut_after(rank).forward.seconds); }

  /// Earliest start of each task by what lies before it, and latest by what follows.
  void find_windows() {
    earliest_.assign(shape_.ranks * num_kinds * m(), 0);
    latest_ = earliest_;
    for (int r = 0; r < shape_.ranks; ++r) {
      for (int k = 0; k < num_kinds; ++k) {
        const Kind kind = static_cast<Kind>(k);
        for (int i = 0; i < m(); ++i) {
          earliest_[number(r, kind, i)] = head(r, kind) + i * seconds(r, kind);
          latest_[number(r, kind, i)] = horizon_ - tail(r, kind) - (m() - 1 - i) * seconds(r, kind);
        }
      }
    }
  }
  /// Time before the first micro-batch's task can start.
  int head(int rank, Kind kind) const {
    int sum = 0;
    for (int r = 0; r < (kind == f ? rank : shape_.ranks); ++r) {
      sum += seconds(r, f) + (r + 1 < shape_.ranks ? latency(r) : 0);
    }
    if (kind == f) return sum;
    for (int r = shape_.ranks - 1; r > rank; --r) sum += seconds(r, b) + latency(r - 1);
    return sum + (kind == w ? seconds(rank, b) : 0);
  }
  /// From the start of the last micro-batch's task to the end of all that follows from it.
  int tail(int rank, Kind kind) const {
    if (kind == w) return seconds(rank, w);
    int after_b = 0;  // the W of any rank down the line
    int sum = 0;
    for (int r = rank; r >= 0; --r) {
      sum += seconds(r, b);
      after_b = std::max(after_b, sum + seconds(r, w));
      if (r > 0) sum += latency(r - 1);
    }
    if (kind == b) return after_b;
    int forwards = seconds(rank, f);
    for (int r = rank + 1; r < shape_.ranks; ++r) forwards += latency(r - 1) + seconds(r, f);
    int whole = 0;
    sum = forwards;
    for (int r = shape_.ranks - 1; r >= 0; --r) {
      sum += seconds(r, b);
      whole = std::max(whole, sum + seconds(r, w));
      if (r > 0) sum += latency(r - 1);
    }
    return whole;
  }

  void add_columns() {
    first_column_.assign(earliest_.size(), -1);
    int count = 0;
    for (std::size_t task = 0; task < earliest_.size(); ++task) {
      impossible_ = impossible_ || latest_[task] < earliest_[task];
      first_column_[task] = count;
      for (int t = earliest_[task]; t <= latest_[task]; ++t, ++count) {
        Cbc_addCol(model_.get(), "x", 0.0, 1.0, 0.0, 1, 0, nullptr, nullptr);
      }
    }
  }

  /// Adds to `terms` that the task starts within [from, to].
  void starts(Terms& terms, int task, int from, int to, double coefficient) const {
    for (int t = std::max(from, earliest_[task]); t <= std::min(to, latest_[task]); ++t) {
      terms.emplace_back(first_column_[task] + t - earliest_[task], coefficient);
    }
  }

  void add_row(const Terms& terms, char sense, double bound) {
    std::vector<int> columns;
    std::vector<double> values;
    for (const auto& [column, value] : terms) {
      columns.push_back(column);
      values.push_back(value);
    }
    if (columns.empty()) return;
    Cbc_addRow(model_.get(), "row", static_cast<int>(columns.size()), columns.data(), values.data(),
               sense, bound);
  }

  void add_one_start_rows(int rank) {
    for (int k = 0; k < num_kinds; ++k) {
      for (int i = 0; i < m(); ++i) {
        Terms terms;
        starts(terms, number(rank, static_cast<Kind>(k), i), 0, horizon_, 1.0);
        add_row(terms, 'E', 1.0);
      }
    }
  }

  void add_one_at_a_time_rows(int rank) {
    for (int t = 0; t < horizon_; ++t) {
      Terms terms;
      for (int k = 0; k < num_kinds; ++k) {
        const Kind kind = static_cast<Kind>(k);
        for (int i = 0; i < m(); ++i)
          starts(terms, number(rank, kind, i), t - seconds(rank, kind) + 1, t, 1.0);
      }
      add_row(terms, 'L', 1.0);
    }
  }

  /// Activations are stored from the start of F to the end of W.
  void add_memory_rows(int rank) {
    for (int t = 0; t < horizon_; ++t) {
      Terms terms;
      for (int i = 0; i < m(); ++i) {
        starts(terms, number(rank, f, i), 0, t, 1.0);
        starts(terms, number(rank, w, i), 0, t - seconds(rank, w), -1.0);
      }
      add_row(terms, 'L', shape_.most_stored[rank]);
    }
  }

  /// `after` starts no sooner than `delay` after the start of `before`.
  void add_order(int before, int after, int delay) {
    for (int t = earliest_[after]; t <= latest_[after]; ++t) {
      if (t - delay >= latest_[before]) break;
      Terms terms;
      starts(terms, after, 0, t, 1.0);
      starts(terms, before, 0, t - delay, -1.0);
      add_row(terms, 'L', 0.0);
    }
  }

  void add_order_rows(int rank) {
    for (int i = 0; i < m(); ++i) {
      if (rank > 0)
        add_order(number(rank - 1, f, i), number(rank, f, i),
                  seconds(rank - 1, f) + latency(rank - 1));
      if (rank > 0)
        add_order(number(rank, b, i), number(rank - 1, b, i), seconds(rank, b) + latency(rank - 1));
      if (rank + 1 == shape_.ranks)
        add_order(number(rank, f, i), number(rank, b, i), seconds(rank, f));
      add_order(number(rank, b, i), number(rank, w, i), seconds(rank, b));
      for (int k = 0; i > 0 && k < num_kinds; ++k) {
        const Kind kind = static_cast<Kind>(k);
        add_order(number(rank, kind, i - 1), number(rank, kind, i), seconds(rank, kind));
      }
    }
  }

  const PipelineShape& shape_;
  int horizon_;
  std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model_;
  std::vector<int> earliest_;
  std::vector<int> latest_;
  std::vector<int> first_column_;
  bool impossible_ = false;
};

using Answer = TimeIndexedProgramme::Answer;

/// The largest whole number below `makespan` / 1.01.
int just_faster(double makespan) { return static_cast<int>(std::ceil(makespan / 1.01 - 1e-9)) - 1; }

PipelineShape random_pipeline(std::mt19937& random) {
  PipelineShape shape;
  shape.ranks = 2 + static_cast<int>(random() % 3);
  shape.micro_batches = 3 + static_cast<int>(random() % 4);
  const auto seconds = [&] { return static_cast<double>(1 + random() % 3); };
  for (int r = 0; r < shape.ranks; ++r) shape.seconds.push_back({seconds(), seconds(), seconds()});
  for (int r = 1; r < shape.ranks; ++r) shape.cuts.push_back(static_cast<double>(random() % 2));
  for (int r = 0; r < shape.ranks; ++r) {
    shape.most_stored.push_back(2 +
                                static_cast<int>(random() % static_cast<unsigned>(shape.ranks)));
  }
  return shape;
}

}  // namespace

TEST_CASE("the programme finds an order where there is one", "[solver]") {
  PipelineShape shape;
  shape.ranks = 2;
  shape.micro_batches = 3;
  shape.most_stored = {3, 3};
  // Three micro-batches of F, B and W take the first rank 9 slots, the second starts one later.
  CHECK(TimeIndexedProgramme(shape, 10).solve(20.0) == Answer::an_order);
  CHECK(TimeIndexedProgramme(shape, 9).solve(20.0) == Answer::no_order);
}

TEST_CASE("no order that the programme allows is more than 1 % faster", "[solver]") {
  std::mt19937 random(17);
  int proven = 0;
  constexpr int num_cases = 16;
  for (int n = 0; n < num_cases; ++n) {
    const PipelineShape shape = random_pipeline(random);
    const double makespan = replay(shape, orders_of("auto", shape))->makespan;
    INFO("n " << n << " p " << shape.ranks << " m " << shape.micro_batches << " makespan "
              << makespan << " bound " << makespan_bound(shape));
    const Answer answer = TimeIndexedProgramme(shape, just_faster(makespan)).solve(10.0);
    CHECK(answer != Answer::an_order);
    proven += answer == Answer::no_order ? 1 : 0;
  }
  INFO(proven << " proven");
  CHECK(proven == num_cases);
}
