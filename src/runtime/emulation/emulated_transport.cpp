#include "runtime/emulation/emulated_transport.hpp"

namespace pptrain {
namespace {

/// A note of the entry's number, and the data where there are any.
struct EmulatedMessage {
  std::uint64_t number = 0;
  PendingPtr note;
  PendingPtr payload;

  bool test() {
    const bool noted = note->test();
    return (payload == nullptr || payload->test()) && noted;
  }
};

class EmulatedSend final : public Pending {
 public:
  bool test() override { return message.test(); }
  std::string missing() const override { return message.note->missing(); }

  EmulatedMessage message;
};

class EmulatedReceive final : public Pending {
 public:
  EmulatedReceive(LinkReplay& links, EmulatedClock& clock) : links_(links), clock_(clock) {}

  bool test() override {
    if (ended_) return true;
    if (!message.test()) return false;
    const std::optional<double> time = links_.arrived(message.number, EmulatedClock::host());
    if (!time) return false;
    clock_.reach(*time);
    ended_ = true;
    return true;
  }
  std::string missing() const override { return message.note->missing(); }

  EmulatedMessage message;

 private:
  LinkReplay& links_;
  EmulatedClock& clock_;
  bool ended_ = false;
};

}  // namespace

PendingPtr EmulatedTransport::send(RankId to, int tag, const void* data, std::size_t bytes) {
  auto pending = std::make_unique<EmulatedSend>();
  EmulatedMessage& message = pending->message;
  message.number =
      log_.append({clock_.now(), static_cast<double>(bytes), own_.value, map_.device_of(to).value});
  message.note = notes_->send(to, tag, &message.number, sizeof(message.number));
  if (payload_ != nullptr) message.payload = payload_->send(to, tag, data, bytes);
  return pending;
}

PendingPtr EmulatedTransport::receive(RankId from, int tag, void* data, std::size_t bytes) {
  auto pending = std::make_unique<EmulatedReceive>(links_, clock_);
  EmulatedMessage& message = pending->message;
  message.note = notes_->receive(from, tag, &message.number, sizeof(message.number));
  if (payload_ != nullptr) message.payload = payload_->receive(from, tag, data, bytes);
  return pending;
}

}  // namespace pptrain
