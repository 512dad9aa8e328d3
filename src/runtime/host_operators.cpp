#include "runtime/host_operators.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace pptrain {
namespace {

/// Why an operator has no kernels for GPUs; "": it has.
const char* why_host(const Operator& op) {
  constexpr const char* maps = "convolutions are computed on the host alone";
  constexpr const char* drawing = "images are drawn on the host alone";
  return std::visit(overloaded{[](const op::Convolution&) { return maps; }, [](const op::BatchNorm&) { return maps; },
                               [](const op::Pool&) { return maps; }, [](const op::Flatten&) { return maps; },
                               [](const op::Enlarge&) { return drawing; }, [](const op::Tiles&) { return drawing; },
                               [](const op::SquareLoss&) { return drawing; }, [](const auto&) { return ""; }},
                    op.kind);
}

}  // namespace

std::string what_needs_host(const Model& model) {
  for (const Layer& layer : model.layers) {
    for (const Operator& op : layer.operators.operators) {
      if (const std::string why = why_host(op); !why.empty()) return why;
    }
  }
  return "";
}

void check_operators(const Config& config, const Model& model, const RankDevice& device) {
  if (device.names().empty()) return;
  const std::string why = what_needs_host(model);
  if (why.empty()) return;
  throw_bad_input({config.where("model.from"), fmt::format("a {} where ranks compute with GPUs", model.name), why,
                   "use [job] device = \"host\""});
}

}  // namespace pptrain
