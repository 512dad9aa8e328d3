#include "cluster/node_prices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "cluster/device_catalogue.hpp"
#include "cluster/node_catalogue.hpp"

namespace pptrain {
namespace {

constexpr const char* example =
    "write for instance --price dgx-h100=98.32USD, for an hour of one node";

[[noreturn]] void refuse(const std::string& text, const std::string& problem,
                         const std::string& reason) {
  throw_bad_input({fmt::format("command line: --price {}", shown(text)), problem, reason, example});
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

bool means_device(const std::string& name, const std::string& kind) {
  const CatalogueDevice* known = catalogue_device(name);
  return plain_name(name) == plain_name(kind) ||
         (known != nullptr && known == catalogue_device(kind));
}

}  // namespace

bool is_currency(const std::string& text) {
  return text.size() == 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool means_node_kind(const std::string& name, const std::string& kind) {
  const CatalogueNode* known = catalogue_node(name);
  return plain_name(name) == plain_name(kind) || (known != nullptr && known->name == kind);
}

double node_watts(const NodeGroup& group) {
  if (group.power > 0.0) return group.power;
  const CatalogueDevice* device = catalogue_device(group.device_kind);
  return device == nullptr ? 0.0 : group.num_devices * device->watts;
}

NodePrice parse_node_price(const std::string& text) {
  constexpr double most_money = 1e12;
  NodePrice price;
  price.text = text;
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    refuse(text, "names no node", "it is no NAME=AMOUNTCURRENCY");
  price.name = text.substr(0, equals);
  const std::string amount = without_spaces(text.substr(equals + 1));
  const char* end = amount.data() + amount.size();
  const auto read = std::from_chars(amount.data(), end, price.amount);
  if (read.ec != std::errc() || !(price.amount >= 0.0) || price.amount > most_money) {
    refuse(text, fmt::format("\"{}\" is no price", shown(amount)),
           "it does not begin with a number of at least 0");
  }
  price.currency = std::string(read.ptr, end);
  if (price.currency.empty())
    refuse(text, "the price has no currency", "an amount of money says nothing without one");
  if (!is_currency(price.currency)) {
    refuse(text, fmt::format("\"{}\" is no currency", shown(price.currency)),
           "a currency is three capital letters");
  }
  return price;
}

bool set_node_price(Cluster& cluster, const NodePrice& price) {
  bool found = false;
  for (NodeGroup& group : cluster.groups) {
    const bool node = means_node_kind(price.name, group.kind);
    if (!node && !means_device(price.name, group.device_kind)) continue;
    group.price = node ? price.amount : price.amount * group.num_devices;
    found = true;
  }
  if (!found) return false;
  if (!cluster.currency.empty() && cluster.currency != price.currency) {
    refuse(price.text, fmt::format("prices in {} and {}", cluster.currency, price.currency),
           "a cluster has one currency");
  }
  cluster.currency = price.currency;
  return true;
}

std::vector<std::string> priced_kinds(const Cluster& cluster) {
  std::vector<std::string> kinds;
  const auto add = [&](const std::string& kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const NodeGroup& group : cluster.groups) add(group.kind);
  for (const NodeGroup& group : cluster.groups) add(group.device_kind);
  return kinds;
}

void refuse_unknown_kind(const std::string& option, const std::string& name,
                         const std::vector<std::string>& kinds) {
  const std::vector<std::string> near = similar_names(name, kinds);
  throw_bad_input(
      {fmt::format("command line: {}", option),
       fmt::format("the cluster has neither nodes nor devices \"{}\"", shown(name)),
       fmt::format("it has {}", join(kinds)),
       near.empty() ? "name one of these" : fmt::format("did you mean {}?", join(near, " or "))});
}

}  // namespace pptrain
