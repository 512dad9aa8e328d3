#include "runtime/execute/agreement.hpp"

#include <nlohmann/json.hpp>

#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "cost/transfer_forms.hpp"
#include "planners/judge/planned_orders.hpp"

namespace pptrain {
namespace {

/// JSON numbers read back to the same doubles.
std::string pack(const OrderOptions& options) {
  nlohmann::json seconds = nlohmann::json::array();
  for (const TaskSeconds& chunk : options.seconds) {
    seconds.push_back({chunk.forward, chunk.backward_input, chunk.backward_weight});
  }
  nlohmann::json cuts = nlohmann::json::array();
  for (const Cut& cut : options.cuts) {
    cuts.push_back({cut.forward.seconds, cut.forward.busy, cut.backward.seconds, cut.backward.busy,
                    static_cast<int>(cut.port)});
  }
  nlohmann::json stored = nlohmann::json::array();
  for (const StoredBytes& chunk : options.stored)
    stored.push_back({chunk.before, chunk.after, chunk.forward, chunk.backward, chunk.weight});
  const nlohmann::json packed = {{"seconds", seconds},
                                 {"cuts", cuts},
                                 {"reduce", options.reduce_seconds},
                                 {"most_stored", options.most_stored},
                                 {"stored", stored},
                                 {"room", options.room},
                                 {"effort", static_cast<int>(options.effort)}};
  return packed.dump();
}

OrderOptions unpack_orders(const std::string& text) {
  const nlohmann::json packed = nlohmann::json::parse(text);
  OrderOptions options;
  for (const auto& chunk : packed.at("seconds"))
    options.seconds.push_back({chunk.at(0), chunk.at(1), chunk.at(2)});
  for (const auto& cut : packed.at("cuts")) {
    const auto port = static_cast<Cut::Port>(cut.at(4).get<int>());
    options.cuts.push_back({{cut.at(0), cut.at(1)}, {cut.at(2), cut.at(3)}, port});
  }
  options.reduce_seconds = packed.at("reduce").get<std::vector<double>>();
  options.most_stored = packed.at("most_stored").get<std::vector<int>>();
  for (const auto& chunk : packed.at("stored"))
    options.stored.push_back({chunk.at(0), chunk.at(1), chunk.at(2), chunk.at(3), chunk.at(4)});
  options.room = packed.at("room").get<std::vector<double>>();
  options.effort = static_cast<OrderEffort>(packed.at("effort").get<int>());
  return options;
}

std::string pack(const TransferForms& forms) {
  nlohmann::json cuts = nlohmann::json::array();
  for (const CutForms& cut : forms.cuts) {
    cuts.push_back({static_cast<int>(cut.activation), static_cast<int>(cut.gradient)});
  }
  nlohmann::json ties = nlohmann::json::array();
  for (const TransferForm tie : forms.ties) ties.push_back(static_cast<int>(tie));
  return nlohmann::json{{"cuts", cuts}, {"ties", ties}}.dump();
}

TransferForms unpack_forms(const std::string& text) {
  const auto form = [](const nlohmann::json& number) {
    return static_cast<TransferForm>(number.get<int>());
  };
  const nlohmann::json packed = nlohmann::json::parse(text);
  TransferForms forms;
  for (const auto& cut : packed.at("cuts"))
    forms.cuts.push_back({form(cut.at(0)), form(cut.at(1))});
  for (const auto& tie : packed.at("ties")) forms.ties.push_back(form(tie));
  return forms;
}

/// Text that rank 0 makes, on all ranks.
template <class Make>
std::string from_rank_0(MPI_Comm world, Waiter& waiter, const Make& make) {
  std::string text;
  collectively(world, waiter, [&] {
    if (rank_in(world) == 0) text = make();
  });
  return broadcast(world, text, waiter);
}

}  // namespace

OrderOptions agreed_order_options(MPI_Comm world, Waiter& waiter, const Instance& instance,
                                  const Plan& plan) {
  return unpack_orders(
      from_rank_0(world, waiter, [&] { return pack(planned_order_options(instance, plan)); }));
}

TransferForms agreed_forms(MPI_Comm world, Waiter& waiter, const Instance& instance,
                           const Plan& plan) {
  return unpack_forms(
      from_rank_0(world, waiter, [&] { return pack(cheapest_forms(instance, plan)); }));
}

}  // namespace pptrain
