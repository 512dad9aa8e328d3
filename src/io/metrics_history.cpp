#include "io/metrics_history.hpp"

#include <algorithm>
#include <limits>

#include "io/hdf5.hpp"

namespace pptrain {
namespace {

/// The datasets of one group of a metrics file, whose first column is `step`.
class Group {
 public:
  Group(const Hdf5Handle& file, std::string name) : name_(std::move(name)) {
    group_ = Hdf5Handle(H5Gopen2(file.get(), name_.c_str(), H5P_DEFAULT), H5Gclose, "opening " + name_);
    names_ = names_in(group_, name_);
  }

  /// Steps are appended last, so that there are as many rows of the others at least. The last step of a run that was
  /// killed may not have been written, and then reads as missing.
  std::size_t rows_until(std::int64_t last_step) const {
    std::vector<std::int64_t> steps(extents_of(open("step"))[0]);
    read(open("step"), H5T_NATIVE_INT64, steps.data());
    return static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(), [&](std::int64_t step) { return step > 0 && step <= last_step; }));
  }

  /// The first `rows` of all. Returns the number of columns.
  std::int64_t take(std::size_t rows, MetricsHistory& history) const {
    std::int64_t columns = 0;
    for (const std::string& name : names_) {
      const Hdf5Handle dataset = open(name);
      const std::vector<std::size_t> extents = extents_of(dataset);
      columns = extents.size() == 2 ? static_cast<std::int64_t>(extents[1]) : 0;
      const std::size_t width = extents.size() == 2 ? extents[1] : 1;
      const std::string path = name_ + "/" + name;
      if (class_of(dataset) == H5T_INTEGER) {
        history.integers[path] = first<std::int64_t>(dataset, H5T_NATIVE_INT64, extents[0] * width, rows * width);
      } else {
        history.reals[path] = first<double>(dataset, H5T_NATIVE_DOUBLE, extents[0] * width, rows * width);
      }
    }
    return columns;
  }

 private:
  Hdf5Handle open(const std::string& name) const {
    return {H5Dopen2(group_.get(), name.c_str(), H5P_DEFAULT), H5Dclose, "opening " + name_ + "/" + name};
  }
  static std::vector<std::size_t> extents_of(const Hdf5Handle& dataset) {
    const std::vector<std::int64_t> shape = shape_of(dataset);
    if (shape.empty()) throw Hdf5Failure("reading a shape", "it is no series");
    return {shape.begin(), shape.end()};
  }
  static void read(const Hdf5Handle& dataset, hid_t type, void* values) {
    check_hdf5(H5Dread(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "reading a series");
  }
  template <class T>
  static std::vector<T> first(const Hdf5Handle& dataset, hid_t type, std::size_t there, std::size_t wanted) {
    if (there < wanted) throw Hdf5Failure("reading a series", "it is shorter than that of the steps");
    std::vector<T> values(there);
    if (there > 0) read(dataset, type, values.data());
    values.resize(wanted);
    return values;
  }

  std::string name_;
  Hdf5Handle group_;
  std::vector<std::string> names_;
};

/// A metrics file, open for reading.
struct OpenedMetrics {
  Hdf5Handle file;
  bool left_open = false;
};

OpenedMetrics open_metrics(const std::string& path) {
  silence_hdf5();
  try {
    return {Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "opening " + path), false};
  } catch (const Hdf5Failure&) {
    // The run goes on or was killed, so that the file is still in the mode of its writer.
    const unsigned mode = H5F_ACC_RDONLY | H5F_ACC_SWMR_READ;
    return {Hdf5Handle(H5Fopen(path.c_str(), mode, H5P_DEFAULT), H5Fclose, "opening " + path), true};
  }
}

MetricsHistory history_of(const Hdf5Handle& file, std::int64_t last_step) {
  MetricsHistory history;
  const Group steps(file, "steps");
  const std::size_t rows = steps.rows_until(last_step);
  steps.take(rows, history);
  history.num_ranks = Group(file, "ranks").take(rows, history);
  for (const char* name : {"evaluation", "drift"}) {
    const Group group(file, name);
    group.take(group.rows_until(last_step), history);
  }
  return history;
}

herr_t note_attribute(hid_t object, const char* name, const H5A_info_t*, void* attributes) {
  try {
    (*static_cast<std::map<std::string, std::string>*>(attributes))[name] = read_attribute(object, name);
  } catch (const Hdf5Failure&) {
    return -1;  // exceptions must not pass through HDF5
  }
  return 0;
}

}  // namespace

MetricsHistory read_metrics_history(const std::string& path, std::int64_t last_step) {
  return history_of(open_metrics(path).file, last_step);
}

MetricsContent read_metrics(const std::string& path) {
  const OpenedMetrics opened = open_metrics(path);
  MetricsContent content;
  content.left_open = opened.left_open;
  content.history = history_of(opened.file, std::numeric_limits<std::int64_t>::max());
  content.plan = read_string(opened.file.get(), "plan");
  const Hdf5Handle group(H5Gopen2(opened.file.get(), "environment", H5P_DEFAULT), H5Gclose, "opening environment");
  check_hdf5(H5Aiterate2(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_attribute, &content.environment),
             "reading environment");
  return content;
}

}  // namespace pptrain
