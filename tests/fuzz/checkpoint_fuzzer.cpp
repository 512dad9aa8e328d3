#include "fuzz.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/data_file.hpp"
#include "io/checkpoint/parameters.hpp"
#include "io/hdf5/hdf5_read.hpp"
#include "strange_hdf5.hpp"

using namespace pptrain;

namespace {

const std::vector<std::string> objects = {"/state/step",
                                          "/state/loss_scale",
                                          "/state/plan",
                                          "/state/good_steps",
                                          "/state",
                                          "/parameters/a.weight",
                                          "/parameters",
                                          "/optimizer",
                                          "/optimizer/a.weight",
                                          "/parameters/b",
                                          "/optimizer/a.weight/m"};

/// A small checkpoint. Its values begin on pages of their own; most of the file is empty.
std::string sound_checkpoint(const std::string& path) {
  std::vector<CheckpointDataset> datasets = {{"/parameters/a.weight", {3, 4}, 0, {}},
                                             {"/parameters/b", {5}, 0, {}},
                                             {"/optimizer/a.weight/m", {3, 4}, 0, {}}};
  lay_out_checkpoint(path, datasets);
  const std::vector<float> values(12, 0.5F);
  DataFile file(path, DataFile::Mode::write);
  for (CheckpointDataset& dataset : datasets) {
    const auto count = static_cast<std::size_t>(dataset.num_elements());
    dataset.digests.push_back(block_digest(values.data(), count));
    file.write(dataset.offset, values.data(), count * sizeof(float), dataset.path);
  }
  seal_checkpoint(path, datasets,
                  {7, 28, 1, 2.0, 3, 1, "data", "[job]\n", "{}", "{}", "name = \"x\"\n"});
  return bytes_of(path);
}

void read(const std::string& path) {
  try {
    const CheckpointHead head = read_checkpoint_head(path);
    check_blocks(path, head);
    PPTRAIN_ASSERT(head.state.step == 7, "a digest of other values");
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
  try {
    const ParameterFile parameters(path);
    for (const float value : parameters.read("a.weight", {3, 4})) {
      PPTRAIN_ASSERT(value > -1e-15F || value < -1e-16F, "a value from outside");
    }
  } catch (const Error& error) {
    PPTRAIN_ASSERT(error.code() == ExitCode::bad_input, "{}", error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  static const std::string path = folder.path("step-7.h5");
  static const std::string sound = sound_checkpoint(path);
  static const StrangeHdf5 strange(folder, objects, {"schema", "xxh3_64"});
  FuzzedDataProvider input(data, size);
  write_bytes(path, sound);
  strange.change(path, input, input.ConsumeBool());
  read(path);
  return 0;
}
