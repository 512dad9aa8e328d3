// Alpa states the choice of a division for each layer as an integer programme. On a chain our
// planner uses an exact dynamic programme instead; here the solver says whether it is.
#include <glpk.h>

#include <memory>
#include <random>

#include "base/infinity.hpp"
#include "cost/instances.hpp"
#include "planners/search.hpp"
#include "support/catch.hpp"

using namespace pptrain;

namespace {

constexpr int num_devices = 4;

/// Layers divided alike over the four devices: replicas x tensor_parallel.
struct Division {
  int replicas;
  int tensor;
};
const std::vector<Division> divisions = {{4, 1}, {2, 2}, {1, 4}};

Interval samples_on(const Division& division, int device, std::int64_t micro_batch) {
  return even_part(micro_batch, division.replicas, device / division.tensor);
}

/// One stage on one node of equal devices with one micro-batch size, as an integer programme: which
/// division each layer has (x), and from which to which one the next layer changes (y).
class OneStageProgramme {
 public:
  OneStageProgramme(const Instance& instance, std::int64_t micro_batch)
      : profile_(instance.profile),
        link_(instance.cluster.groups[0].link),
        memory_(instance.cluster.device_kinds[0].memory),
        micro_batch_(micro_batch),
        micro_batches_(static_cast<double>(instance.global_batch_size / micro_batch)),
        num_layers_(instance.profile.num_layers()),
        programme_(glp_create_prob(), glp_delete_prob) {
    glp_term_out(GLP_OFF);
    glp_set_obj_dir(programme_.get(), GLP_MIN);
    add_columns();
    add_one_division_rows();
    add_change_rows();
    add_memory_row();
  }

  /// Seconds of the iteration; infinite when nothing fits.
  double solve() {
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.presolve = GLP_ON;
    parameters.msg_lev = GLP_MSG_OFF;
    if (glp_intopt(programme_.get(), &parameters) != 0) return infinity;
    return glp_mip_status(programme_.get()) == GLP_OPT ? glp_mip_obj_val(programme_.get())
                                                       : infinity;
  }

 private:
  using Terms = std::vector<std::pair<int, double>>;  // column, coefficient

  int num_divisions() const { return static_cast<int>(divisions.size()); }
  int x(int layer, int d) const { return 1 + layer * num_divisions() + d; }
  int y(int layer, int from, int to) const {
    return 1 + num_layers_ * num_divisions() +
           ((layer - 1) * num_divisions() + from) * num_divisions() + to;
  }
  bool possible(int d) const { return divisions[d].replicas <= micro_batch_; }
  double most_samples(int d) const {
    return static_cast<double>(samples_on(divisions[d], 0, micro_batch_).size());
  }

  /// Seconds of a layer in all micro-batches, and of the bytes of its gradient all-reduce.
  double layer_seconds(int layer, int d) const {
    const auto [replicas, tensor] = divisions[d];
    const ProfileLayer& itself = profile_.layers[layer];
    double seconds = profile_.seconds(layer, "v", tensor, most_samples(d))->total();
    if (tensor > 1 && itself.tensor_parallel_allreduce_bytes > 0.0) {
      const double bytes = itself.tensor_parallel_allreduce_bytes * most_samples(d);
      seconds += 2.0 * (2.0 * (tensor - 1) / tensor * bytes / link_.bandwidth +
                        2.0 * (tensor - 1) * link_.latency);
    }
    const double gradient = profile_.bytes_per_parameter.gradient * itself.parameters / tensor;
    return micro_batches_ * seconds + 2.0 * (replicas - 1) / replicas * gradient / link_.bandwidth;
  }
  /// A run of layers of one division is reduced at once and pays the latency once.
  double run_seconds(int d) const { return 2.0 * (divisions[d].replicas - 1) * link_.latency; }

  /// Seconds of a change of the division before a layer, both ways, in all micro-batches.
  double change_seconds(int layer, int from, int to) const {
    const auto one_way = [&](int a, int b) {
      std::int64_t most = 0;
      for (int device = 0; device < num_devices; ++device) {
        const Interval held = samples_on(divisions[a], device, micro_batch_);
        const Interval needed = samples_on(divisions[b], device, micro_batch_);
        most = std::max(most, needed.size() - intersect(held, needed).size());
      }
      const double bytes = static_cast<double>(most) * profile_.layers[layer - 1].output_bytes;
      return most > 0 ? bytes / link_.bandwidth + link_.latency : 0.0;
    };
    return micro_batches_ * (one_way(from, to) + one_way(to, from));
  }

  void add_columns() {
    glp_add_cols(programme_.get(), y(num_layers_, 0, 0) - 1);
    for (int l = 0; l < num_layers_; ++l) {
      for (int d = 0; d < num_divisions(); ++d) {
        glp_set_col_kind(programme_.get(), x(l, d), GLP_BV);
        if (!possible(d)) glp_set_col_bnds(programme_.get(), x(l, d), GLP_FX, 0.0, 0.0);
        if (possible(d)) {
          glp_set_obj_coef(programme_.get(), x(l, d),
                           layer_seconds(l, d) + (l == 0 ? run_seconds(d) : 0.0));
        }
        for (int to = 0; l > 0 && to < num_divisions(); ++to) {
          glp_set_col_bnds(programme_.get(), y(l, d, to), GLP_LO, 0.0, 0.0);
          if (d != to && possible(d) && possible(to)) {
            glp_set_obj_coef(programme_.get(), y(l, d, to),
                             change_seconds(l, d, to) + run_seconds(to));
          }
        }
      }
    }
  }

  void add_row(int type, double bound, const Terms& terms) {
    const int row = glp_add_rows(programme_.get(), 1);
    glp_set_row_bnds(programme_.get(), row, type, bound, bound);
    std::vector<int> columns = {0};  // GLPK counts from 1
    std::vector<double> values = {0.0};
    for (const auto& [column, value] : terms) {
      columns.push_back(column);
      values.push_back(value);
    }
    glp_set_mat_row(programme_.get(), row, static_cast<int>(terms.size()), columns.data(),
                    values.data());
  }

  void add_one_division_rows() {
    for (int l = 0; l < num_layers_; ++l) {
      Terms terms;
      for (int d = 0; d < num_divisions(); ++d) terms.emplace_back(x(l, d), 1.0);
      add_row(GLP_FX, 1.0, terms);
    }
  }

  void add_change_rows() {
    for (int l = 1; l < num_layers_; ++l) {
      for (int d = 0; d < num_divisions(); ++d) {
        Terms leave = {{x(l - 1, d), -1.0}};
        Terms arrive = {{x(l, d), -1.0}};
        for (int other = 0; other < num_divisions(); ++other) {
          leave.emplace_back(y(l, d, other), 1.0);
          arrive.emplace_back(y(l, other, d), 1.0);
        }
        add_row(GLP_FX, 0.0, leave);
        add_row(GLP_FX, 0.0, arrive);
      }
    }
  }

  /// The first device has most samples under every division.
  void add_memory_row() {
    const BytesPerParameter& bytes = profile_.bytes_per_parameter;
    Terms terms;
    for (int l = 0; l < num_layers_; ++l) {
      for (int d = 0; d < num_divisions(); ++d) {
        if (!possible(d)) continue;
        const ProfileLayer& itself = profile_.layers[l];
        terms.emplace_back(x(l, d), (bytes.weight + bytes.gradient + bytes.optimizer) *
                                            itself.parameters / divisions[d].tensor +
                                        most_samples(d) * itself.stored_bytes);
      }
    }
    add_row(GLP_UP, memory_, terms);
  }

  const Profile& profile_;
  Link link_;
  double memory_;
  std::int64_t micro_batch_;
  double micro_batches_;
  int num_layers_;
  std::unique_ptr<glp_prob, void (*)(glp_prob*)> programme_;
};

/// Layers for which different divisions are best: some large, some chatty, some that divide badly.
Profile random_chain(std::mt19937& random) {
  const auto draw = [&random](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  Profile profile;
  profile.model = "random";
  const int num_layers = static_cast<int>(draw(2.0, 7.0));
  for (int l = 0; l < num_layers; ++l) {
    const double seconds = draw(0.5, 4.0);
    profile.layers.push_back(layer(fmt::format("l{}", l), seconds, seconds, seconds));
    ProfileLayer& itself = profile.layers.back();
    itself.parameters = draw(1.0, 3000.0);
    itself.output_bytes = draw(0.0, 2000.0);
    itself.stored_bytes = draw(0.0, 2000.0);
    itself.tensor_parallel_allreduce_bytes = draw(0.0, 1.0) < 0.5 ? 0.0 : draw(0.0, 1500.0);
    for (const int n : {2, 4}) {
      const double part = draw(0.8, 1.5) * seconds / n;
      itself.rows.push_back({"v", n, 1.0, {part, part, part}, true});
    }
  }
  return profile;
}

}  // namespace

TEST_CASE("alpa's choice of divisions is the integer programme's", "[planners]") {
  std::mt19937 random(7);
  Restrictions one_stage;
  one_stage.pipeline = 1;
  int num_blocks = 0;
  int num_without = 0;
  for (int i = 0; i < 200; ++i) {
    const Profile profile = random_chain(random);
    const double memory = i % 3 == 0 ? 40000.0 : 1e9;
    const Cluster cluster = nodes_of(1, num_devices, memory);
    const Instance instance = {profile, cluster, 8};
    double least = infinity;
    for (const std::int64_t micro_batch : {1, 2, 4, 8}) {
      least = std::min(least, OneStageProgramme(instance, micro_batch).solve());
    }
    const SearchResult result = search_plan("alpa", instance, one_stage, "x");
    INFO("instance " << i);
    REQUIRE(result.plan.has_value() == (least < infinity));
    if (!result.plan) {
      ++num_without;
      continue;
    }
    num_blocks += static_cast<int>(result.plan->stages[0].blocks.size());
    CHECK(result.plan->predicted->estimates.at("amp") == Approx(least).epsilon(1e-9));
  }
  CHECK(num_blocks > 50);   // else nothing was chosen layer by layer
  CHECK(num_without < 60);  // else hardly anything was compared
}
