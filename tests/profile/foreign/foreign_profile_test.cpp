#include "profile/foreign/foreign_profile.hpp"

#include "profile/foreign/planner_files.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

using namespace test;

TEST_CASE("parameters of Metis may be those of a shard, and elements", "[foreign]") {
  const Folder folder;
  folder.write("DeviceType.A100_tp2_bs1.json", metis_file("[3, 30, 60, 6]", 2 * block_parameters));
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]", 4 * block_parameters));
  const ForeignProfile from = read_foreign_profile("metis", folder.path());
  CHECK(from.sizes[1].parameters == 4 * block_parameters);
  folder.write("DeviceType.A100_tp1_bs1.json", metis_file("[3, 30, 60, 6]", block_parameters));
  fs::remove(folder.path("DeviceType.A100_tp2_bs1.json"));
  CHECK_NOTHROW(check_foreign_model(read_foreign_profile("metis", folder.path()),
                                    build_model_of(small_job())));
}

std::string metis_complaint(const Folder& folder) {
  return complaint_of([&] { metis_profile(folder); });
}

TEST_CASE("files of Metis that are wrong are refused with file and key", "[foreign]") {
  const Folder folder;
  CHECK_THAT(metis_complaint(folder), Catch::Contains("DeviceType.NAME_tpN_bsN.json"));
  const std::string name = "DeviceType.A100_tp1_bs1.json";
  folder.write(name, metis_file("[3, NaN, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains(name + ":3: this is not JSON"));
  folder.write(name, metis_file("[3, -30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains(name + ": execution_time.layer_compute_total_ms[1]"));
  folder.write(name, metis_file("[0, 0, 0, 0]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("take no time"));
  folder.write(name, metis_file("[3, 30, 6]"));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("model.num_layers: it is 4, but layer_compute_total_ms has 3"));
  folder.write(name, replaced(metis_file("[3, 30, 60, 6]"), "[50000, ", "["));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("has 3 layers, but layer_compute_total_ms has 4"));
  folder.write(name, metis_file("[3, 30, 60, 6]", 9 * block_parameters));
  CHECK_THAT(metis_complaint(folder),
             Catch::Contains("layer 1 has 95832 bytes of them, but block.0"));
  write_metis(folder);
  folder.write("DeviceType.A100_tp01_bs4.json", metis_file("[3, 30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("DeviceType.A100_tp01_bs4.json has"));
  fs::remove(folder.path("DeviceType.A100_tp01_bs4.json"));
  folder.write("DeviceType.A100_tp3_bs1.json", metis_file("[3, 30, 60, 6]"));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("tensor-parallel degree 3"));
  folder.write("DeviceType.A100_tp3_bs1.json", metis_file("[3, 30, 60, 6]", 3 * block_parameters));
  CHECK_THAT(metis_complaint(folder), Catch::Contains("they cannot be of one model"));
}

TEST_CASE("a folder of one device of Sailor, and its file", "[foreign]") {
  const Folder folder;
  write_sailor(folder);
  for (const char* path : {"Small/V100-16", "Small/V100-16/profile.json"}) {
    const ForeignProfile from = read_foreign_profile("sailor", folder.path(path));
    CHECK(from.model == "Small");
    CHECK(from.devices() == std::vector<std::string>{"V100-16"});
    CHECK(from.is_whole());
  }
}

TEST_CASE("files of Sailor that are wrong are refused with file and key", "[foreign]") {
  const Folder folder;
  const auto complaint = [&] {
    return complaint_of([&] { sailor_profile(folder.path("Small")); });
  };
  CHECK_THAT(complaint(), Catch::Contains("A100-40/profile.json"));
  const auto write = [&](const std::string& layers, const std::string& degree = "1") {
    folder.write("Small/V100-16/profile.json",
                 fmt::format(R"({{"1": {{"{}": {}}}}})", degree, layers));
  };
  folder.write("Small/V100-16/profile.json", R"({"1": {}})");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1: it has no times"));
  folder.write("Small/V100-16/profile.json", "{}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: it has no times"));
  write("{}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1.1: has no layers"));
  write("{\"0\": [1, 2, 3], \"2\": [1, 2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("V100-16/profile.json: 1.1.1: is missing"));
  write("{\"0\": [1, 2]}");
  CHECK_THAT(complaint(), Catch::Contains("1.1.0: it has 2 numbers"));
  write("{\"0\": [1, -2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("1.1.0[1]: must be at least 0"));
  write(sailor_layers, "two");
  CHECK_THAT(complaint(), Catch::Contains("the key \"two\" is no degree"));
  write(sailor_layers, "8");
  CHECK_THAT(complaint(), Catch::Contains("tensor-parallel degree 8"));
  write("{\"0\": [1, 2, 3]}");
  CHECK_THAT(complaint(), Catch::Contains("it has 1 layers, but"));
  write_sailor(folder);
  folder.write("Small/T4/profile.json", fmt::format(R"({{"1": {{"1": {}}}}})", sailor_with_norm));
  CHECK_THAT(complaint(), Catch::Contains("they cannot be of one model"));
  fs::remove_all(folder.path("Small/T4"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_sizes(2)));
  CHECK_THAT(complaint(), Catch::Contains("llm_info.json: Small: layer 1 has 5324 parameters"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_sizes(1, 320)));
  CHECK_THAT(complaint(), Catch::Contains("--sequence-length"));
  folder.write("llm_info.json", fmt::format(R"({{"Small": {{"1": {}}}}})", sailor_with_norm));
  CHECK_THAT(complaint(), Catch::Contains("llm_info.json: Small.1: it has 5 layers"));
}

TEST_CASE("an unknown planner is refused with the one that is meant", "[foreign]") {
  CHECK_THAT(complaint_of([] { read_foreign_profile("sailer", "folder"); }),
             Catch::Contains("did you mean \"sailor\""));
}

TEST_CASE("times are in the order of devices, degrees and samples", "[foreign]") {
  const Folder folder;
  write_metis(folder);
  const ForeignProfile from = read_foreign_profile("metis", folder.path());
  std::vector<std::string> order;
  for (const ForeignTimes& times : from.times)
    order.push_back(fmt::format("{} {} {}", times.device, times.tensor_parallel, times.samples));
  CHECK(order == std::vector<std::string>{"A100 1 1", "A100 1 4", "A100 2 4", "T4 1 1"});
  CHECK(from.devices() == std::vector<std::string>{"A100", "T4"});
  CHECK(from.num_layers() == 4);
}

TEST_CASE("a profile is whole with outputs of all layers but the last, and what each stores",
          "[foreign]") {
  ForeignProfile from;
  CHECK_FALSE(from.is_whole());
  CHECK(from.num_layers() == 0);
  from.sizes = {{10.0, 4.0, 16.0, {{1, 8.0}}}, {10.0, 0.0, 0.0, {{1, 8.0}}}};
  CHECK(from.is_whole());
  ForeignProfile without_output = from;
  without_output.sizes.front().output_bytes = 0.0;
  CHECK_FALSE(without_output.is_whole());
  from.sizes.back().stored_bytes = {{2, 4.0}};  // of another degree
  CHECK_FALSE(from.is_whole());
}

}  // namespace
}  // namespace pptrain
