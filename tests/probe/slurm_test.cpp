#include "probe/slurm.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/catch.hpp"

namespace pptrain {
namespace {

/// Sets variables of the environment, and puts back what was there.
class Environment {
 public:
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.emplace(name, old == nullptr ? "" : old);
    setenv(name.c_str(), value.c_str(), 1);
  }
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::string> before_;
};

/// A folder with a program `scontrol` of these lines of shell.
class FakeScontrol {
 public:
  explicit FakeScontrol(const std::string& lines) {
    std::string name = std::filesystem::temp_directory_path() / "scontrolXXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(folder_ / "scontrol") << "#!/bin/sh\n" << lines;
    chmod((folder_ / "scontrol").c_str(), 0755);
  }
  FakeScontrol(const FakeScontrol&) = delete;
  FakeScontrol& operator=(const FakeScontrol&) = delete;
  ~FakeScontrol() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_.string() + ":/usr/bin:/bin"; }

 private:
  std::filesystem::path folder_;
};

TEST_CASE("Slurm's variables name the node and the switches above it") {
  Environment environment;
  environment.set("SLURMD_NODENAME", "n17");
  environment.set("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node");
  environment.set("SLURM_TOPOLOGY_ADDR", "spine.leaf1.n17");
  CHECK(slurm_place().node == "n17");
  CHECK(slurm_place().switches == std::vector<std::string>{"spine", "leaf1"});
  environment.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
  environment.set("SLURM_TOPOLOGY_ADDR", "n17");
  CHECK(slurm_place().switches.empty());
}

TEST_CASE("features of the job's nodes come from scontrol") {
  const FakeScontrol scontrol(R"sh(test "$*" = "--oneliner show node n1,n2,n3" || exit 1
echo "NodeName=n1 Arch=x86_64 AvailableFeatures=a100,ib ActiveFeatures=a100,ib Gres=gpu:4"
echo "NodeName=n2 Arch=x86_64 AvailableFeatures=v100 ActiveFeatures=v100 Gres=gpu:4"
echo "NodeName=n3 Arch=x86_64 AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null)"
)sh");
  Environment environment;
  environment.set("PATH", scontrol.path());
  environment.set("SLURM_JOB_ID", "");
  CHECK(slurm_features({"n1", "n2", "n3"}).empty());
  environment.set("SLURM_JOB_ID", "12");
  CHECK(slurm_features({"n1", "n2", "n3"}) ==
        std::map<std::string, std::string>{{"n1", "a100,ib"}, {"n2", "v100"}});
  CHECK(slurm_features({"n1", "n4"}).empty());                  // scontrol fails
  CHECK(slurm_features({"n1,n2,n3"}).empty());                  // no name of a node
  CHECK(slurm_features({"n1", "n2;touch somewhere"}).empty());  // nothing for a shell
}

}  // namespace
}  // namespace pptrain
