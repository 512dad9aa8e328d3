#include "runtime/checkpoint/same_job.hpp"

#include "config/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

using namespace pptrain;

namespace {

const std::string accepted = "nothing was refused";  // what `complaint_of` then says
const std::string mixed =
    "[data]\nend_of_document = 3\n[[data.mix]]\npath = \"a.bin\"\nweight = 2.0\n[[data.mix]]\npath "
    "= \"b.bin\"\n";

CheckpointHead head_of(const std::string& configuration) {
  CheckpointHead head;
  head.state.configuration = configuration;
  return head;
}

std::string refused(const std::string& there, const std::string& here) {
  std::vector<CheckpointDataset> none;
  return complaint_of(
      [&] { check_same_job("c.h5", head_of(there), parse_config(here, "c.toml", ""), "", none); });
}

/// As a version wrote it that had no keys whose lines begin so.
std::string without(std::string text, const std::string& key) {
  const std::size_t begin = text.find("\n" + key + " = ");
  REQUIRE(begin != std::string::npos);
  return text.erase(begin, text.find('\n', begin + 1) - begin);
}

}  // namespace

TEST_CASE("a checkpoint of a version without some keys goes on with their defaults",
          "[checkpoint]") {
  std::string old = write_config(Config());
  for (const char* key : {"end_of_document", "attend_across_documents", "gradient_precision"})
    old = without(old, key);
  CHECK(refused(old, "") == accepted);
  CHECK(changed_settings(head_of(old).state, Config()).empty());
  const std::vector<std::string> changed = changed_settings(
      head_of(old).state, parse_config("[data]\nend_of_document = 3\n", "c.toml", ""));
  CHECK(changed ==
        std::vector<std::string>{"data.end_of_document = 3 (\"auto\" in the checkpoint)"});
}

TEST_CASE("a folder's job of a version without sizes of images goes on", "[checkpoint]") {
  const std::string folder = "[model]\nfrom = \"somewhere\"\n";
  const std::string there = write_config(parse_config(folder, "c.toml", ""));
  CHECK(refused(without(there, "image_size"), folder) == accepted);
  CHECK(refused(there, folder + "image_size = 64\n")
            .find("model.image_size = 64 (0 in the checkpoint)") != std::string::npos);
}

TEST_CASE("another size of micro-batches is told where losses depend on it", "[checkpoint]") {
  const CheckpointHead head =
      head_of(write_config(parse_config("[training]\nmicro_batch_size = 4\n", "c.toml", "")));
  const Config here = parse_config("[training]\nmicro_batch_size = 2\n", "c.toml", "");
  CHECK(changed_settings(head.state, here).empty());
  CHECK(changed_settings(head.state, here, true) ==
        std::vector<std::string>{"training.micro_batch_size = 2 (4 in the checkpoint)"});
}

TEST_CASE("a mix goes on with its weights, wherever its files lie", "[checkpoint]") {
  const std::string there = write_config(parse_config(mixed, "c.toml", ""));
  CHECK(refused(there, mixed) == accepted);
  std::string moved = mixed;
  moved.replace(moved.find("a.bin"), 5, "elsewhere/a.bin");
  // Annotations of Whale count apart.
  CHECK(refused(there, "[[model.annotate]]\nlayers = [0, 6]\ndevices = 2\n" + moved) == accepted);
  std::string heavier = mixed;
  heavier.replace(heavier.find("2.0"), 3, "3.0");
  CHECK(refused(there, heavier).find("data.mix[0].weight = 3.0 (2.0 in the checkpoint)") !=
        std::string::npos);
  CHECK(refused(there, mixed + "[[data.mix]]\npath = \"c.bin\"\n")
            .find("data.mix[2].weight = 1.0 (not set") != std::string::npos);
}
