#include "comm/communicator.hpp"

namespace pptrain {
namespace {

class Ended final : public Pending {
 public:
  bool test() override { return true; }
  std::string missing() const override { return "nothing"; }
};

}  // namespace

PendingPtr SilentCommunicator::start_all_reduce_sum(float*, std::size_t) { return std::make_unique<Ended>(); }

PendingPtr SilentCommunicator::start_reduce_scatter_sum(float*, const std::vector<Interval>&) {
  return std::make_unique<Ended>();
}

PendingPtr SilentCommunicator::start_all_gather(float*, const std::vector<Interval>&) {
  return std::make_unique<Ended>();
}

PendingPtr SilentCommunicator::start_all_reduce_sum(BFloat16*, std::size_t) { return std::make_unique<Ended>(); }

PendingPtr SilentCommunicator::start_reduce_scatter_sum(BFloat16*, const std::vector<Interval>&) {
  return std::make_unique<Ended>();
}

PendingPtr SilentCommunicator::start_all_gather(BFloat16*, const std::vector<Interval>&) {
  return std::make_unique<Ended>();
}

}  // namespace pptrain
