#include "io/run/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "io/keys.hpp"

namespace pptrain {
namespace {

const std::vector<SeriesInfo> step_integers = {
    {"step", "1", "number of optimizer steps done"},
    {"peak_bytes", "B", "most memory in use on one device since the start"},
};

const std::vector<SeriesInfo> step_reals = {
    {"loss", "nat", "mean cross-entropy per token of the global batch, before the update"},
    {"grad_norm", "1", "global norm of the gradient before clipping"},
    {"learning_rate", "1", "learning rate of the update"},
    {"loss_scale", "1", "factor on the loss that keeps small gradients from vanishing"},
    {"iteration_seconds", "s",
     "wall time since the iteration before, without evaluations, checkpoints and changes of plan"},
    {"tokens_per_second", "1/s", "tokens of the global batch over the wall time"},
    {"model_flops_utilization", "1",
     "model FLOP per second over the peak of the devices that the plan uses; nan where none is "
     "known"},
    {"experts_balance", "1",
     "what `[training] router_aux_loss` weighs in the loss; nan without it"},
};

/// Whether files of older versions lack a series.
bool is_newer(const SeriesInfo& info) { return info.name == "experts_balance"; }

std::array<double, 8> reals_of(const StepMetrics& m) {
  return {m.loss,
          m.grad_norm,
          m.learning_rate,
          m.loss_scale,
          m.iteration_seconds,
          m.tokens_per_second,
          m.model_flops_utilization,
          m.experts_balance};
}

const std::vector<SeriesInfo> rank_reals = {
    {"compute_seconds", "s", "time in layers and optimizer, by step and rank"},
    {"communication_seconds", "s",
     "time in communication that computation waits for, by step and rank"},
    {"idle_seconds", "s", "time without anything to do, by step and rank"},
};

const SeriesInfo rank_peak = {"peak_bytes", "B",
                              "most memory in use since the start, by step and rank"};

const SeriesInfo expert_rows = {"rows", "1",
                                "positions of the global batch that went to each expert of each "
                                "layer in the step; the attributes `layers` and "
                                "`experts` of the group say which column is whose"};

const std::vector<SeriesInfo> drift_integers = {
    {"step", "1", "number of optimizer steps done when a rank was found to have fallen behind"},
    {"rank", "1", "that rank"},
};

const SeriesInfo drift_factor = {"factor", "1", "how many times as long as expected it computed"};

const SeriesInfo evaluation_loss = {"loss", "nat",
                                    "mean cross-entropy per token of held-back data"};

std::array<double, 3> reals_of(const RankMetrics& m) {
  return {m.compute_seconds, m.communication_seconds, m.idle_seconds};
}

/// SWMR wants the newest file format.
Hdf5Handle newest_format() {
  Hdf5Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making access properties");
  check_hdf5(H5Pset_libver_bounds(properties.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST),
             "setting the file format");
  return properties;
}

Hdf5Handle make_group(const Hdf5Handle& file, const std::string& name) {
  return {H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "creating " + name};
}

}  // namespace

const std::vector<MetricsSeries>& metrics_series() {
  static const std::vector<MetricsSeries> all = [] {
    std::vector<MetricsSeries> made;
    using Columns = MetricsSeries::Columns;
    const auto add = [&](const char* group, const std::vector<SeriesInfo>& infos, Series::Type type,
                         Columns columns = Columns::none) {
      for (const SeriesInfo& info : infos)
        made.push_back({group, info, type, columns, is_newer(info)});
    };
    add("steps", step_integers, Series::Type::integer);
    add("steps", step_reals, Series::Type::real);
    add("ranks", rank_reals, Series::Type::real, Columns::ranks);
    add("ranks", {rank_peak}, Series::Type::integer, Columns::ranks);
    add("experts", {expert_rows}, Series::Type::integer, Columns::experts);
    add("evaluation", {step_integers[0]}, Series::Type::integer);
    add("evaluation", {evaluation_loss}, Series::Type::real);
    add("drift", drift_integers, Series::Type::integer);
    add("drift", {drift_factor}, Series::Type::real);
    return made;
  }();
  return all;
}

std::vector<KeyTable> io_keys::metrics() {
  std::vector<KeyTable> tables = {
      {"/steps", "A row every `[metrics] interval` steps and after the last.", {}},
      {"/ranks", "The same rows.", {}},
      {"/experts", "The same rows, of models with experts.", {}},
      {"/evaluation", "A row every `[metrics] evaluation_interval` steps.", {}},
      {"/drift", "A row for each rank that fell behind, and window of steps.", {}}};
  for (const MetricsSeries& series : metrics_series()) {
    const auto table = std::find_if(tables.begin(), tables.end(), [&](const KeyTable& one) {
      return one.path == "/" + series.group;
    });
    const std::string shape = series.columns == MetricsSeries::Columns::ranks ? "[row, rank]"
                              : series.columns == MetricsSeries::Columns::experts
                                  ? "[row, layer x expert]"
                                  : "[row]";
    table->keys.push_back(
        {series.info.name, shape + ", " + series.info.units, "", series.info.description});
  }
  return tables;
}

MetricsFile::MetricsFile(const std::string& path, std::int64_t num_ranks, const std::string& plan,
                         const std::map<std::string, std::string>& environment,
                         const MetricsHistory* history, const ExpertColumns& experts)
    : path_(path),
      num_ranks_(num_ranks),
      num_columns_(std::max(num_ranks, history == nullptr ? 0 : history->num_ranks)),
      experts_(experts) {
  silence_hdf5();
  const std::string beside = history == nullptr ? path : path + ".new";
  try {
    create(beside, plan, environment, history);
    if (beside != path && std::rename(beside.c_str(), path.c_str()) != 0) {
      throw Hdf5Failure("renaming " + beside, "the file system refuses");
    }
  } catch (const Hdf5Failure& failure) {
    if (file_.is_open()) std::remove(beside.c_str());
    throw_unwritable({path, "the metrics file cannot be created", failure.what(),
                      "check [job] output and the disk"},
                     file_.error());
  }
}

void MetricsFile::create(const std::string& path, const std::string& plan,
                         const std::map<std::string, std::string>& environment,
                         const MetricsHistory* history) {
  const Hdf5Handle access = newest_format();
  const unsigned mode = history == nullptr ? H5F_ACC_EXCL : H5F_ACC_TRUNC;
  file_.open(path, mode, access);
  write_attribute(file_.get(), "schema", "pptrain.metrics/1");
  write_string(file_.get(), "plan", plan);
  const Hdf5Handle environment_group = make_group(file_.handle(), "environment");
  for (const auto& [name, value] : environment)
    write_attribute(environment_group.get(), name, value);

  const Hdf5Handle steps = make_group(file_.handle(), "steps");
  for (const SeriesInfo& info : step_integers) {
    step_integers_.emplace_back(steps.get(), info, Series::Type::integer, 0);
  }
  for (const SeriesInfo& info : step_reals)
    step_reals_.emplace_back(steps.get(), info, Series::Type::real, 0);
  const Hdf5Handle ranks = make_group(file_.handle(), "ranks");
  for (const SeriesInfo& info : rank_reals) {
    rank_reals_.emplace_back(ranks.get(), info, Series::Type::real, num_columns_);
  }
  rank_integers_.emplace_back(ranks.get(), rank_peak, Series::Type::integer, num_columns_);
  if (experts_.size() > 0) {
    const Hdf5Handle group = make_group(file_.handle(), "experts");
    write_attribute(group.get(), "layers", join(experts_.layers, " "));
    write_attribute(group.get(), "experts", std::to_string(experts_.experts));
    expert_rows_.emplace_back(group.get(), expert_rows, Series::Type::integer, experts_.size());
  }
  const Hdf5Handle evaluation = make_group(file_.handle(), "evaluation");
  evaluation_.emplace_back(evaluation.get(), step_integers[0], Series::Type::integer, 0);
  evaluation_.emplace_back(evaluation.get(), evaluation_loss, Series::Type::real, 0);
  const Hdf5Handle drift = make_group(file_.handle(), "drift");
  for (const SeriesInfo& info : drift_integers)
    drift_.emplace_back(drift.get(), info, Series::Type::integer, 0);
  drift_.emplace_back(drift.get(), drift_factor, Series::Type::real, 0);
  if (history != nullptr) append_history(*history);
  check_hdf5(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing the file");
  check_hdf5(H5Fstart_swmr_write(file_.get()), "starting single-writer-multiple-reader mode");
  file_.check("writing the file");
}

void MetricsFile::append_history(const MetricsHistory& history) {
  const auto append = [&](Series& series, const std::string& path, std::int64_t columns) {
    const auto reals = history.reals.find(path);
    const auto integers = history.integers.find(path);
    if (reals != history.reals.end())
      series.append(widened(reals->second, columns, num_columns_, missing_real));
    if (integers != history.integers.end()) {
      series.append(widened(integers->second, columns, num_columns_, missing_integer));
    }
  };
  for (std::size_t i = 0; i < step_reals.size(); ++i)
    append(step_reals_[i], "steps/" + step_reals[i].name, 0);
  for (std::size_t i = 0; i < step_integers.size(); ++i)
    append(step_integers_[i], "steps/" + step_integers[i].name, 0);
  for (std::size_t i = 0; i < rank_reals.size(); ++i) {
    append(rank_reals_[i], "ranks/" + rank_reals[i].name, history.num_ranks);
  }
  append(rank_integers_[0], "ranks/" + rank_peak.name, history.num_ranks);
  append_expert_rows(history);
  append(evaluation_[0], "evaluation/step", 0);
  append(evaluation_[1], "evaluation/loss", 0);
  for (std::size_t i = 0; i < drift_integers.size(); ++i)
    append(drift_[i], "drift/" + drift_integers[i].name, 0);
  append(drift_[2], "drift/" + drift_factor.name, 0);
}

/// Rows of before, or as many missing ones where the file of before had none.
void MetricsFile::append_expert_rows(const MetricsHistory& history) {
  if (expert_rows_.empty()) return;
  const std::size_t rows =
      history.integers.contains("steps/step") ? history.integers.at("steps/step").size() : 0;
  std::vector<std::int64_t> values(rows * static_cast<std::size_t>(experts_.size()),
                                   missing_integer);
  if (history.experts == experts_) values = history.integers.at("experts/rows");
  expert_rows_[0].append(values);
}

template <class Action>
bool MetricsFile::attempt(const Action& action) {
  if (!writes_) return false;
  try {
    action();
    file_.check("writing the file");
  } catch (const Hdf5Failure& failure) {
    writes_ = false;
    log_warning("{}: metrics can no longer be written ({}); the training goes on without", path_,
                failure.what());
  }
  return writes_;
}

bool MetricsFile::append_step(const StepMetrics& metrics, std::span<const RankMetrics> ranks,
                              std::span<const std::int64_t> expert_rows) {
  PPTRAIN_ASSERT(static_cast<std::int64_t>(expert_rows.size()) == experts_.size(),
                 "{} of {} experts", expert_rows.size(), experts_.size());
  PPTRAIN_ASSERT(static_cast<std::int64_t>(ranks.size()) == num_ranks_, "{} of {} ranks",
                 ranks.size(), num_ranks_);
  return attempt([&] {
    const std::array<double, 8> reals = reals_of(metrics);
    for (std::size_t i = 0; i < reals.size(); ++i) step_reals_[i].append(std::span(&reals[i], 1));
    std::vector<double> row(static_cast<std::size_t>(num_columns_), missing_real);
    for (std::size_t i = 0; i < rank_reals_.size(); ++i) {
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) row[rank] = reals_of(ranks[rank])[i];
      rank_reals_[i].append(row);
    }
    std::vector<std::int64_t> peaks(static_cast<std::size_t>(num_columns_), missing_integer);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) peaks[rank] = ranks[rank].peak_bytes;
    rank_integers_[0].append(peaks);
    if (!expert_rows_.empty()) expert_rows_[0].append(expert_rows);
    step_integers_[1].append(std::span(&metrics.peak_bytes, 1));
    // Last, so that whoever counts steps finds all the rest of them.
    step_integers_[0].append(std::span(&metrics.step, 1));
  });
}

bool MetricsFile::append_evaluation(std::int64_t step, double loss) {
  return attempt([&] {
    evaluation_[1].append(std::span(&loss, 1));
    evaluation_[0].append(std::span(&step, 1));
  });
}

bool MetricsFile::append_drift(std::int64_t step, std::int64_t rank, double factor) {
  return attempt([&] {
    drift_[2].append(std::span(&factor, 1));
    drift_[1].append(std::span(&rank, 1));
    drift_[0].append(std::span(&step, 1));
  });
}

}  // namespace pptrain
