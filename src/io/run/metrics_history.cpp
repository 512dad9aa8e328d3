#include "io/run/metrics_history.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "io/hdf5/hdf5_read.hpp"
#include "io/run/metrics.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t most_series_bytes = std::int64_t{1} << 34;

using Kind = Hdf5Expected::Kind;

/// The series of one group of a metrics file, of which `step` is the first.
class Group {
 public:
  Group(const Hdf5Handle& file, std::string name)
      : name_(std::move(name)), group_(open_group(file, name_)) {}

  /// Steps are appended last, so that there are as many rows of the others at least. The last step
  /// of a run that was killed may not have been written, and then reads as missing.
  std::size_t rows_until(std::int64_t last_step) const {
    const std::vector<std::int64_t> steps =
        open("step", Kind::integer, {Hdf5Expected::any}).values<std::int64_t>();
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(),
                      [&](std::int64_t step) { return step > 0 && step <= last_step; }));
  }

  /// The first `rows` of all. Returns the number of columns, 0 where series have one dimension.
  std::int64_t take(std::size_t rows, MetricsHistory& history) const {
    std::int64_t columns = 0;
    for (const MetricsSeries& series : metrics_series()) {
      if (series.group != name_) continue;
      const std::string path = name_ + "/" + series.info.name;
      if (series.newer && !has_link(group_, series.info.name)) {
        history.reals[path].assign(rows, std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      const bool by_column = series.columns != MetricsSeries::Columns::none;
      std::vector<std::int64_t> shape = {Hdf5Expected::any};
      if (by_column) shape.push_back(columns == 0 ? Hdf5Expected::any : columns);
      const bool is_integer = series.type == Series::Type::integer;
      const Hdf5Array array =
          open(series.info.name, is_integer ? Kind::integer : Kind::real, shape);
      if (by_column) columns = array.shape()[1];
      if (by_column && columns == 0) throw Hdf5Failure("reading " + name_, "it has no columns");
      if (is_integer) {
        history.integers[path] = first<std::int64_t>(array, rows);
      } else {
        history.reals[path] = first<double>(array, rows);
      }
    }
    return columns;
  }

 private:
  Hdf5Array open(const std::string& name, Kind kind, const std::vector<std::int64_t>& shape) const {
    return {Hdf5Array::Place::dataset, group_, name, {kind, shape, most_series_bytes}};
  }
  template <class T>
  static std::vector<T> first(const Hdf5Array& array, std::size_t rows) {
    const auto there = static_cast<std::size_t>(array.shape()[0]);
    if (there < rows) throw Hdf5Failure("reading a series", "it is shorter than that of the steps");
    std::vector<T> values = array.values<T>();
    if (there > 0) values.resize(values.size() / there * rows);
    return values;
  }

  std::string name_;
  Hdf5Handle group_;
};

ExpertColumns experts_in(const Hdf5Handle& file) {
  const Hdf5Handle group = open_group(file, "experts");
  const auto text = [&](const char* name) {
    return read_text(Hdf5Array::Place::attribute, group, name, most_text_bytes);
  };
  ExpertColumns columns;
  std::istringstream names(text("layers"));
  for (std::string name; names >> name;) columns.layers.push_back(name);
  std::istringstream(text("experts")) >> columns.experts;
  constexpr std::int64_t most = 1 << 20;
  if (columns.experts < 1 || columns.experts > most)
    throw Hdf5Failure("reading experts", "it has no number of them");
  return columns;
}

MetricsHistory history_of(const Hdf5Handle& file, std::int64_t last_step) {
  MetricsHistory history;
  const Group steps(file, "steps");
  const std::size_t rows = steps.rows_until(last_step);
  steps.take(rows, history);
  history.num_ranks = Group(file, "ranks").take(rows, history);
  if (has_link(file, "experts")) {
    history.experts = experts_in(file);
    if (Group(file, "experts").take(rows, history) != history.experts.size()) {
      throw Hdf5Failure("reading experts", "it has not a column for each expert of its layers");
    }
  }
  for (const char* name : {"evaluation", "drift"}) {
    const Group group(file, name);
    group.take(group.rows_until(last_step), history);
  }
  return history;
}

herr_t note_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::map<std::string, std::string> environment_in(const Hdf5Handle& file) {
  const Hdf5Handle group = open_group(file, "environment");
  std::vector<std::string> names;
  check_hdf5(H5Aiterate2(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_name, &names),
             "listing environment");
  std::map<std::string, std::string> environment;
  for (const std::string& name : names) {
    environment[name] = read_text(Hdf5Array::Place::attribute, group, name, most_text_bytes);
  }
  return environment;
}

}  // namespace

MetricsHistory read_metrics_history(const std::string& path, std::int64_t last_step) {
  return history_of(open_to_read(path).file, last_step);
}

MetricsContent read_metrics(const std::string& path) {
  const Hdf5Source source = open_to_read(path);
  MetricsContent content;
  content.left_open = source.left_open;
  content.history = history_of(source.file, std::numeric_limits<std::int64_t>::max());
  content.plan = read_text(Hdf5Array::Place::dataset, source.file, "plan", most_text_bytes);
  content.environment = environment_in(source.file);
  return content;
}

}  // namespace pptrain
