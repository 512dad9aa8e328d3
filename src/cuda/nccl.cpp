#include "cuda/nccl.hpp"

#ifdef PPTRAIN_HAVE_NCCL

#include <fstream>
#include <list>

#include "base/error.hpp"
#include "cuda/check.hpp"
#include "cuda/nccl_communicator.hpp"

namespace pptrain {
namespace {

/// Tells one running host from another, containers of one included.
std::string host_identity() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, text);
  return text;
}

std::string bus_id(int ordinal) {
  char text[32] = {};
  PPTRAIN_CUDA(cudaDeviceGetPCIBusId, text, static_cast<int>(sizeof(text)), ordinal);
  return text;
}

class NcclGroups final : public DirectGroups {
 public:
  explicit NcclGroups(CudaDevice& device) : device_(device) {}

  std::string name() const override { return "NCCL"; }
  std::string device_identity() const override {
    return host_identity() + " " + bus_id(device_.ordinal());
  }
  std::unique_ptr<Communicator> make(std::unique_ptr<MpiCommunicator> host, std::string name,
                                     Waiter& waiter) override {
    return std::make_unique<NcclCommunicator>(device_, groups_, std::move(host), std::move(name),
                                              waiter);
  }
  void progress() override {
    for (NcclCommunicator* group : groups_) group->progress();
  }
  std::string unfinished() const override {
    for (const NcclCommunicator* group : groups_) {
      if (std::string what = group->unfinished(); !what.empty()) return what;
    }
    return "";
  }

 private:
  CudaDevice& device_;
  std::list<NcclCommunicator*> groups_;
};

}  // namespace

std::unique_ptr<DirectGroups> make_nccl_groups(Device& device) {
  auto* gpu = dynamic_cast<CudaDevice*>(&device);
  PPTRAIN_ASSERT(gpu != nullptr, "NCCL on {}", device.name());
  return std::make_unique<NcclGroups>(*gpu);
}

}  // namespace pptrain

#else

namespace pptrain {

std::unique_ptr<DirectGroups> make_nccl_groups(Device&) { return nullptr; }

}  // namespace pptrain

#endif
