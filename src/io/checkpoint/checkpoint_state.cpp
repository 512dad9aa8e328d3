#include "io/checkpoint/checkpoint_state.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/error.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "io/keys.hpp"

namespace pptrain {
namespace {

/// Each number and each text of a state, by its name in /state. What older files lack is `later`: 0
/// there.
template <class State, class Integer, class Real, class Text, class Later>
void visit_state(State& state, const Integer& integer, const Real& real, const Text& text,
                 const Later& later) {
  integer("step", state.step);
  integer("samples", state.samples);
  integer("seed", state.seed);
  real("loss_scale", state.loss_scale);
  later("good_steps", state.good_steps);
  later("skipped_steps", state.skipped_steps);
  text("data", state.data);
  text("configuration", state.configuration);
  text("plan", state.plan);
  text("profile", state.profile);
  text("cluster", state.cluster);
}

void write_scalar(hid_t group, const char* name, hid_t stored, hid_t given, const void* value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "making a data space");
  const Hdf5Handle dataset(
      H5Dcreate2(group, name, stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
      std::string("creating ") + name);
  check_hdf5(H5Dwrite(dataset.get(), given, H5S_ALL, H5S_ALL, H5P_DEFAULT, value),
             std::string("writing ") + name);
}

template <class T>
T read_scalar(const Hdf5Handle& group, const char* name, Hdf5Expected::Kind kind) {
  return Hdf5Array(Hdf5Array::Place::dataset, group, name, {kind, {}, sizeof(T)}).values<T>()[0];
}

}  // namespace

std::string state_digest(const CheckpointState& state) {
  std::string all;
  visit_state(
      state, [&](const char*, std::int64_t value) { all += fmt::format("{}\n", value); },
      [&](const char*, double value) { all += fmt::format("{}\n", value); },
      [&](const char*, const std::string& value) {
        all += fmt::format("{}\n{}", value.size(), value);
      },
      [&](const char* name, std::int64_t value) {
        if (value != 0) all += fmt::format("{} {}\n", name, value);
      });
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

void write_checkpoint_state(const Hdf5Handle& file, const CheckpointState& state) {
  std::vector<std::string> names;
  const auto note = [&names](const char* name, const auto&) { names.emplace_back(name); };
  visit_state(state, note, note, note, note);
  PPTRAIN_ASSERT(names == io_keys::state.names(), "what is in /state is not what is described");
  const Hdf5Handle group(H5Gcreate2(file.get(), "state", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Gclose, "creating /state");
  const auto integer = [&](const char* name, const std::int64_t& value) {
    write_scalar(group.get(), name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
  };
  visit_state(
      state, integer,
      [&](const char* name, const double& value) {
        write_scalar(group.get(), name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
      },
      [&](const char* name, const std::string& value) { write_string(group.get(), name, value); },
      integer);
  write_attribute(group.get(), checkpoint_digest_name, state_digest(state));
}

CheckpointState read_checkpoint_state(const Hdf5Handle& file, const std::string& path) {
  const Hdf5Handle group = open_group(file, "state");
  CheckpointState state;
  const auto integer = [&](const char* name, std::int64_t& value) {
    value = read_scalar<std::int64_t>(group, name, Hdf5Expected::Kind::integer);
  };
  visit_state(
      state, integer,
      [&](const char* name, double& value) {
        value = read_scalar<double>(group, name, Hdf5Expected::Kind::real);
      },
      [&](const char* name, std::string& value) {
        value = read_text(Hdf5Array::Place::dataset, group, name, most_text_bytes);
      },
      [&](const char* name, std::int64_t& value) {
        if (has_link(group, name)) integer(name, value);
      });
  if (read_text(Hdf5Array::Place::attribute, group, checkpoint_digest_name, most_text_bytes) !=
      state_digest(state)) {
    throw_bad_input({path, "/state is damaged", "its digest is not that of what was written",
                     "name another one"});
  }
  return state;
}

}  // namespace pptrain
