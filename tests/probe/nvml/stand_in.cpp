// In place of NVIDIA's management library: what PPTRAIN_TEST_NVML says of pairs of GPUs, as
// "0000:03:00.0 0000:04:00.0 nvlink; 0000:03:00.0 0000:05:00.0 30", with numbers as NVML has them
// for the common ancestor. Without the variable there is no driver.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Pair {
  std::string one, other, link;
};

std::vector<Pair> described() {
  std::vector<Pair> pairs;
  const char* text = std::getenv("PPTRAIN_TEST_NVML");
  std::istringstream stream(text == nullptr ? "" : text);
  for (std::string part; std::getline(stream, part, ';');) {
    std::istringstream words(part);
    Pair pair;
    words >> pair.one >> pair.other >> pair.link;
    pairs.push_back(pair);
  }
  return pairs;
}

/// "" where nothing is said of the two.
std::string link_between(const std::string& one, const std::string& other) {
  for (const Pair& pair : described()) {
    if ((pair.one == one && pair.other == other) || (pair.one == other && pair.other == one))
      return pair.link;
  }
  return "";
}

constexpr int success = 0, not_found = 6, driver_not_loaded = 9, uninitialized = 1,
              not_supported = 3;
int users = 0;

}  // namespace

struct nvmlDevice_st {
  std::string bus_id;
};

extern "C" {

int nvmlInit_v2() {
  if (std::getenv("PPTRAIN_TEST_NVML") == nullptr) return driver_not_loaded;
  ++users;
  return success;
}

int nvmlShutdown() {
  if (users == 0) return uninitialized;
  --users;
  return success;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_st** device) {
  static std::map<std::string, nvmlDevice_st> devices;
  if (users == 0) return uninitialized;
  const std::vector<Pair> pairs = described();
  const bool is_known = std::any_of(pairs.begin(), pairs.end(), [bus_id](const Pair& pair) {
    return pair.one == bus_id || pair.other == bus_id;
  });
  if (!is_known) return not_found;
  *device = &devices.try_emplace(bus_id, nvmlDevice_st{bus_id}).first->second;
  return success;
}

int nvmlDeviceGetP2PStatus(nvmlDevice_st* one, nvmlDevice_st* other, int capability, int* status) {
  constexpr int nvlink = 2, ok = 0, status_not_supported = 5;
  if (users == 0) return uninitialized;
  *status = capability == nvlink && link_between(one->bus_id, other->bus_id) == "nvlink"
                ? ok
                : status_not_supported;
  return success;
}

int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_st* one, nvmlDevice_st* other, int* level) {
  if (users == 0) return uninitialized;
  const std::string link = link_between(one->bus_id, other->bus_id);
  if (link.empty() || link == "nvlink") return not_supported;
  *level = std::stoi(link);
  return success;
}

}  // extern "C"
