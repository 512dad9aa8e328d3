#include "runtime/execute/activation_offload.hpp"

#include "base/error.hpp"

namespace pptrain {

void ActivationOffload::send(Saved& saved) {
  Sent sent;
  for (Tensor* tensor : saved.kept()) {
    if (!*tensor) continue;
    Kept kept = {tensor, tensor->matrix(), Buffer(host_, tensor->bytes()), nullptr};
    kept.copy = device_.device().start_download(kept.host.data(), tensor->f32(), tensor->bytes());
    sent.tensors.push_back(std::move(kept));
  }
  const bool is_new = sent_.emplace(&saved, std::move(sent)).second;
  PPTRAIN_ASSERT(is_new, "what a layer keeps is sent twice");
}

void ActivationOffload::let_go() {
  for (auto& [saved, sent] : sent_) {
    if (sent.place == Place::leaving) let_go(sent);
  }
}

void ActivationOffload::let_go(Sent& sent) {
  for (Kept& kept : sent.tensors) {
    device_.device().follow(*kept.copy);
    kept.copy.reset();
    kept.tensor->reset();
  }
  sent.place = Place::host;
}

void ActivationOffload::fetch(Saved& saved) {
  const auto found = sent_.find(&saved);
  if (found == sent_.end() || found->second.place == Place::coming) return;
  Sent& sent = found->second;
  if (sent.place == Place::leaving) let_go(sent);
  for (Kept& kept : sent.tensors) {
    *kept.tensor = Tensor(device_, kept.shape.rows, kept.shape.columns, kept.shape.type);
    kept.copy =
        device_.device().start_fetch(kept.tensor->f32(), kept.host.data(), kept.host.bytes());
  }
  sent.place = Place::coming;
}

void ActivationOffload::require(Saved& saved) {
  fetch(saved);
  const auto found = sent_.find(&saved);
  if (found == sent_.end()) return;
  for (const Kept& kept : found->second.tensors) device_.device().follow(*kept.copy);
  sent_.erase(found);
}

}  // namespace pptrain
