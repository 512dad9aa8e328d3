#include "kernel_builder.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "arithmetic.hpp"
#include "stand_in.hpp"

namespace cuda_on_host::ptx {
namespace {

/// The operands of an instruction: what commas part that are in no braces or brackets.
std::vector<std::string> operands_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '{' || letter == '[' ? 1 : 0;
    depth -= letter == '}' || letter == ']' ? 1 : 0;
    if (letter == ',' && depth == 0) {
      parts.emplace_back();
    } else if (std::isspace(static_cast<unsigned char>(letter)) == 0) {
      parts.back() += letter;
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

const std::map<std::string, int>& specials() {
  static const std::map<std::string, int> all = {
      {"%tid.x", thread_x},       {"%tid.y", thread_y},       {"%tid.z", thread_z},
      {"%ntid.x", block_size_x},  {"%ntid.y", block_size_y},  {"%ntid.z", block_size_z},
      {"%ctaid.x", block_x},      {"%ctaid.y", block_y},      {"%ctaid.z", block_z},
      {"%nctaid.x", grid_size_x}, {"%nctaid.y", grid_size_y}, {"%nctaid.z", grid_size_z},
      {"%laneid", lane_id}};
  return all;
}

}  // namespace

KernelBuilder::KernelBuilder(Kernel& kernel, const std::vector<Declaration>& parameters)
    : kernel_(kernel) {
  kernel_.registers.resize(num_specials);
  kernel_.sources.emplace_back();
  for (const Declaration& parameter : parameters) {
    kernel_.parameter_bytes = rounded_up(kernel_.parameter_bytes, parameter.alignment);
    symbols_[parameter.name] = kernel_.parameter_bytes;
    kernel_.parameters.push_back({kernel_.parameter_bytes, parameter.bytes});
    kernel_.parameter_bytes += parameter.bytes;
  }
}

void KernelBuilder::dynamic_shared(const std::string& name) { dynamic_.push_back(name); }

void KernelBuilder::label(const std::string& name) {
  labels_[name] = static_cast<int>(kernel_.code.size());
}

void KernelBuilder::source(const std::string& place) {
  kernel_.sources.push_back(place);
  source_ = static_cast<int>(kernel_.sources.size()) - 1;
}

void KernelBuilder::statement(const std::string& text, int line) {
  line_ = line;
  text_ = text;
  if (begins_with(text, ".shared") || begins_with(text, ".local")) {
    declare(text);
  } else if (text[0] != '.') {
    instruction(text);
  }
}

void KernelBuilder::end() {
  const std::uint64_t behind = rounded_up(kernel_.shared_bytes, 16);
  for (const std::string& name : dynamic_) {
    const auto used = registers_.find(name);
    if (used == registers_.end()) continue;
    kernel_.registers[static_cast<std::size_t>(used->second)] = behind;
    kernel_.shared_bytes = behind;
  }
  for (const auto& [place, name] : branches_) {
    const auto found = labels_.find(name);
    if (found == labels_.end()) refuse("no label " + name);
    kernel_.code[place].target = found->second;
  }
}

void KernelBuilder::refuse(const std::string& why) const {
  fault("PTX: " + why + " at line " + std::to_string(line_) + " of " + kernel_.file + ": " + text_);
}

void KernelBuilder::declare(const std::string& text) {
  const Declaration one = declaration_of(text);
  std::uint64_t& bytes = text[1] == 's' ? kernel_.shared_bytes : kernel_.local_bytes;
  bytes = rounded_up(bytes, one.alignment);
  symbols_[one.name] = bytes;
  bytes += one.bytes;
}

int KernelBuilder::new_register(Register value) {
  kernel_.registers.push_back(value);
  return static_cast<int>(kernel_.registers.size()) - 1;
}

int KernelBuilder::place_of(const std::string& operand) {
  if (operand == "_") return no_register;
  if (const auto special = specials().find(operand); special != specials().end())
    return special->second;
  const auto known = registers_.find(operand);
  if (known != registers_.end()) return known->second;
  return registers_[operand] = new_register(first_value(operand));
}

Register KernelBuilder::first_value(const std::string& operand) const {
  const auto hexadecimal = [&] { return std::strtoull(operand.c_str() + 2, nullptr, 16); };
  if (operand[0] == '%') return 0;
  if (begins_with(operand, "0f") || begins_with(operand, "0d")) return hexadecimal();
  if (std::isdigit(static_cast<unsigned char>(operand[0])) != 0)
    return std::strtoull(operand.c_str(), nullptr, 0);
  if (operand[0] == '-') return static_cast<Register>(std::strtoll(operand.c_str(), nullptr, 0));
  if (const auto symbol = symbols_.find(operand); symbol != symbols_.end()) return symbol->second;
  for (const std::string& name : dynamic_) {
    if (name == operand) return 0;  // end() says where
  }
  refuse("unknown operand " + operand);
}

void KernelBuilder::append(const Instruction& one) {
  kernel_.code.push_back(one);
  kernel_.texts.push_back(text_);
}

void KernelBuilder::instruction(std::string text) {
  Instruction one;
  one.line = line_;
  one.source = source_;
  if (text[0] == '@') {
    const auto end = text.find_first_of(blanks);
    one.runs_if_guard_is = text[1] != '!';
    one.guard =
        place_of(text.substr(one.runs_if_guard_is ? 1 : 2, end - (one.runs_if_guard_is ? 1 : 2)));
    text = trimmed(text.substr(end));
  }
  const auto end = text.find_first_of(blanks);
  const std::string opcode = text.substr(0, end);
  const auto operands =
      end == std::string::npos ? std::vector<std::string>() : operands_of(text.substr(end));
  if (control(one, opcode, operands) || memory(one, opcode, operands) ||
      parts(one, opcode, operands)) {
    append(one);
    return;
  }
  one.arithmetic = find_arithmetic(opcode);
  if (one.arithmetic == nullptr) refuse("no instruction " + opcode);
  one.results[0] = place_of(operands.at(0));
  for (std::size_t i = 1; i < operands.size(); ++i) one.operands.at(i - 1) = place_of(operands[i]);
  append(one);
}

bool KernelBuilder::control(Instruction& one, const std::string& opcode,
                            const std::vector<std::string>& operands) {
  if (opcode == "bra" || opcode == "bra.uni") {
    one.operation = Operation::branch;
    branches_.emplace_back(kernel_.code.size(), operands.at(0));
  } else if (opcode == "ret" || opcode == "exit") {
    one.operation = Operation::leave;
  } else if (opcode == "bar.sync") {
    if (operands != std::vector<std::string>{"0"}) refuse("barriers but 0 are not known");
    one.operation = Operation::block_barrier;
  } else if (opcode == "bar.warp.sync") {
    one.operation = Operation::warp_barrier;
    one.operands[0] = place_of(operands.at(0));
  } else if (begins_with(opcode, "shfl.sync.")) {
    shuffle(one, split(opcode, '.').at(2), operands);
  } else {
    return false;
  }
  return true;
}

void KernelBuilder::shuffle(Instruction& one, const std::string& mode,
                            const std::vector<std::string>& operands) {
  static const std::map<std::string, Shuffle> modes = {{"up", Shuffle::up},
                                                       {"down", Shuffle::down},
                                                       {"bfly", Shuffle::butterfly},
                                                       {"idx", Shuffle::index}};
  one.operation = Operation::shuffle;
  one.shuffle = modes.at(mode);
  const auto results = split(operands.at(0), '|');
  for (std::size_t i = 0; i < results.size(); ++i) one.results.at(i) = place_of(results[i]);
  for (std::size_t i = 0; i < 4; ++i) one.operands.at(i) = place_of(operands.at(i + 1));
}

bool KernelBuilder::memory(Instruction& one, const std::string& opcode,
                           const std::vector<std::string>& operands) {
  static const std::map<std::string, Space> spaces = {{"global", Space::global},
                                                      {"shared", Space::shared},
                                                      {"local", Space::local},
                                                      {"param", Space::parameter}};
  const auto words = split(opcode, '.');
  if (words[0] != "ld" && words[0] != "st") return false;
  const bool is_load = words[0] == "ld";
  const auto space = spaces.find(words.at(1));
  const bool is_vector = words.size() == 4 && (words[2] == "v2" || words[2] == "v4");
  if (space == spaces.end() || (words.size() != 3 && !is_vector)) refuse("no such memory");
  one.operation = is_load ? Operation::load : Operation::store;
  one.space = space->second;
  one.bytes = static_cast<std::uint8_t>(bytes_of(words.back()));
  if (one.space == Space::global)
    kernel_.narrowest_global = std::min<unsigned>(kernel_.narrowest_global, one.bytes);
  if (one.space == Space::shared)
    kernel_.narrowest_shared = std::min<unsigned>(kernel_.narrowest_shared, one.bytes);
  one.is_signed = words.back()[0] == 's';
  const auto values = elements(operands.at(is_load ? 0 : 1));
  one.elements = static_cast<std::uint8_t>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) one.results.at(i) = place_of(values[i]);
  const std::string address = operands.at(is_load ? 1 : 0);
  const auto plus = address.find('+');
  one.operands[0] = place_of(address.substr(1, std::min(plus, address.size() - 1) - 1));
  if (plus != std::string::npos) one.offset = std::strtoll(address.c_str() + plus + 1, nullptr, 0);
  return true;
}

bool KernelBuilder::parts(Instruction& one, const std::string& opcode,
                          const std::vector<std::string>& operands) {
  if (!begins_with(opcode, "mov.") || operands.size() != 2) return false;
  const bool unpacks = operands[0][0] == '{', packs = operands[1][0] == '{';
  if (!unpacks && !packs) return false;
  const auto names = elements(operands[unpacks ? 0 : 1]);
  one.elements = static_cast<std::uint8_t>(names.size());
  one.bytes = static_cast<std::uint8_t>(bytes_of(split(opcode, '.').back()) / names.size());
  one.arithmetic = unpacks ? unpack : pack;
  auto& many = unpacks ? one.results : one.operands;
  for (std::size_t i = 0; i < names.size(); ++i) many.at(i) = place_of(names[i]);
  (unpacks ? one.operands : one.results)[0] = place_of(operands[unpacks ? 1 : 0]);
  return true;
}

std::vector<std::string> KernelBuilder::elements(const std::string& operand) {
  if (operand[0] != '{') return {operand};
  return split(operand.substr(1, operand.size() - 2), ',');
}

}  // namespace cuda_on_host::ptx
