#include "parser.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "arithmetic.hpp"
#include "stand_in.hpp"

namespace cuda_on_host::ptx {
namespace {

constexpr const char* blanks = " \t";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(trimmed(part));
  return parts;
}

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

/// Bytes of a type such as "u32", "b8" or "pred".
unsigned bytes_of(const std::string& type) {
  return type == "pred" ? 1U : static_cast<unsigned>(std::atoi(type.c_str() + 1)) / 8U;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool begins_with(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

/// A declaration: `.shared .align 8 .b8 scratch[256]`, `.param .u64 name`. An array without a
/// number of elements has 0 bytes.
struct Declaration {
  std::string name;
  std::uint64_t alignment = 1, bytes = 0;
};

Declaration declaration_of(const std::string& text) {
  Declaration result;
  std::stringstream words(text);
  for (std::string word; words >> word;) {
    if (word == ".align") {
      words >> result.alignment;
    } else if (word[0] == '.') {
      result.bytes = bytes_of(word.substr(1));  // the last one is the type
    } else {
      const auto bracket = word.find('[');
      result.name = word.substr(0, bracket);
      if (bracket == std::string::npos) {
        result.alignment = result.bytes;
      } else {
        result.bytes *= std::strtoull(word.c_str() + bracket + 1, nullptr, 0);
      }
    }
  }
  return result;
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

/// Reads the body of one kernel, statement by statement.
class Body {
 public:
  Body(Kernel& kernel, const std::vector<Declaration>& parameters) : kernel_(kernel) {
    kernel_.registers.resize(num_specials);
    kernel_.sources.emplace_back();
    for (const Declaration& parameter : parameters) {
      kernel_.parameter_bytes = rounded_up(kernel_.parameter_bytes, parameter.alignment);
      symbols_[parameter.name] = kernel_.parameter_bytes;
      kernel_.parameters.push_back({kernel_.parameter_bytes, parameter.bytes});
      kernel_.parameter_bytes += parameter.bytes;
    }
  }

  /// Shared memory whose size a launch gives: it begins behind what the kernel declares, which is
  /// known at the end.
  void dynamic_shared(const std::string& name) { dynamic_.push_back(name); }

  void label(const std::string& name) { labels_[name] = static_cast<int>(kernel_.code.size()); }

  void source(const std::string& place) {
    kernel_.sources.push_back(place);
    source_ = static_cast<int>(kernel_.sources.size()) - 1;
  }

  void statement(const std::string& text, int line) {
    line_ = line;
    text_ = text;
    if (begins_with(text, ".shared") || begins_with(text, ".local")) {
      declare(text);
    } else if (text[0] != '.') {
      instruction(text);
    }
  }

  void end() {
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

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fault("PTX: " + why + " at line " + std::to_string(line_) + " of " + kernel_.file + ": " +
          text_);
  }

  void declare(const std::string& text) {
    const Declaration one = declaration_of(text);
    std::uint64_t& bytes = text[1] == 's' ? kernel_.shared_bytes : kernel_.local_bytes;
    bytes = rounded_up(bytes, one.alignment);
    symbols_[one.name] = bytes;
    bytes += one.bytes;
  }

  int new_register(Register value) {
    kernel_.registers.push_back(value);
    return static_cast<int>(kernel_.registers.size()) - 1;
  }

  /// The place of a register, number or symbol; "_" has none.
  int place_of(const std::string& operand) {
    if (operand == "_") return no_register;
    if (const auto special = specials().find(operand); special != specials().end())
      return special->second;
    const auto known = registers_.find(operand);
    if (known != registers_.end()) return known->second;
    return registers_[operand] = new_register(first_value(operand));
  }

  Register first_value(const std::string& operand) const {
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

  void append(const Instruction& one) {
    kernel_.code.push_back(one);
    kernel_.texts.push_back(text_);
  }

  void instruction(std::string text) {
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
    for (std::size_t i = 1; i < operands.size(); ++i)
      one.operands.at(i - 1) = place_of(operands[i]);
    append(one);
  }

  /// Whether an instruction says what is executed next, or who waits for whom.
  bool control(Instruction& one, const std::string& opcode,
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

  /// `shfl.sync.bfly.b32 d|p, a, b, c, mask`; operands: a, b, c, mask.
  void shuffle(Instruction& one, const std::string& mode,
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

  /// `ld.global.v4.f32 {a, b, c, d}, [address+16]` and `st.shared.u8 [address], a`.
  bool memory(Instruction& one, const std::string& opcode,
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
    if (plus != std::string::npos)
      one.offset = std::strtoll(address.c_str() + plus + 1, nullptr, 0);
    return true;
  }

  /// `mov.b32 %r1, {%h1, %h2}` and `mov.b32 {%h1, %h2}, %r1`.
  bool parts(Instruction& one, const std::string& opcode,
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

  static std::vector<std::string> elements(const std::string& operand) {
    if (operand[0] != '{') return {operand};
    return split(operand.substr(1, operand.size() - 2), ',');
  }

  Kernel& kernel_;
  std::map<std::string, std::uint64_t> symbols_;  // and where they lie in their space
  std::vector<std::string> dynamic_;
  std::map<std::string, int> registers_, labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  int line_ = 0, source_ = 0;
  std::string text_;
};

/// Reads a file line by line: what is outside of kernels, and where their statements end.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  void line(const std::string& raw) {
    ++number_;
    const std::string text = trimmed(raw.substr(0, raw.find("//")));
    if (text.empty() || debugging(text)) return;
    if (body_ != nullptr) {
      in_body(text);
    } else if (!kernels_.empty() && is_in_head_) {
      in_head(text);
    } else if (text.find(".entry") != std::string::npos) {
      begin(text);
    } else if (begins_with(text, ".extern .shared")) {
      const auto at = text.find(".shared");
      dynamic_.push_back(declaration_of(text.substr(at, text.find(';') - at)).name);
    } else if (text.find(".func") != std::string::npos) {
      fault("PTX: calls of functions are not known, line " + std::to_string(number_) + " of " +
            file_);
    }
  }

  std::vector<Kernel> take() {
    for (Kernel& kernel : kernels_) name_sources(kernel);
    return std::move(kernels_);
  }

 private:
  struct SourceFile {
    std::string name;
    bool is_of_toolkit = false;
  };

  /// `.file 1 "/folder/norm.cu"` and `.loc 1 12 3, ...`, which end without a semicolon.
  bool debugging(const std::string& text) {
    std::stringstream words(text);
    std::string directive, file, line;
    words >> directive >> file;
    if (directive == ".loc") {
      words >> line;
      if (body_ != nullptr) body_->source(file + ":" + line);
      return true;
    }
    if (directive != ".file") return false;
    const auto end = text.rfind('"'), begin = text.rfind('/', end);
    source_files_[file] = {text.substr(begin + 1, end - begin - 1),
                           text.find("/include/") != std::string::npos};
    return true;
  }

  /// Puts names of files in the place of their numbers. What was inlined from the toolkit's headers
  /// gets the place that calls it, which the assembly names before it.
  void name_sources(Kernel& kernel) const {
    std::string known;
    for (std::string& source : kernel.sources) {
      const auto found = source_files_.find(source.substr(0, source.find(':')));
      if (found != source_files_.end() && !found->second.is_of_toolkit)
        known = found->second.name + source.substr(source.find(':'));
      source = known;
    }
  }

  /// `.visible .entry name(`
  void begin(const std::string& text) {
    const auto at = text.find(".entry") + 7;
    kernels_.emplace_back();
    kernels_.back().name = demangled(text.substr(at, text.find('(') - at));
    kernels_.back().file = file_;
    parameters_.clear();
    is_in_head_ = true;
  }

  void in_head(std::string text) {
    if (begins_with(text, ".param")) {
      if (text.back() == ',') text.pop_back();
      parameters_.push_back(declaration_of(text));
    } else if (begins_with(text, ".maxntid")) {
      kernels_.back().most_threads = static_cast<unsigned>(std::atoi(text.c_str() + 9));
    } else if (text == "{") {
      body_ = std::make_unique<Body>(kernels_.back(), parameters_);
      for (const std::string& name : dynamic_) body_->dynamic_shared(name);
      depth_ = 1;
      is_in_head_ = false;
    }
  }

  void in_body(const std::string& text) {
    if (text.back() == ':' && statement_.empty()) {
      body_->label(text.substr(0, text.size() - 1));
      return;
    }
    for (const char letter : text) {
      depth_ += letter == '{' ? 1 : 0;
      depth_ -= letter == '}' ? 1 : 0;
      if (letter == ';') {
        end_statement();
      } else {
        statement_ += letter;
      }
    }
    if (statement_.find_first_not_of(" \t{}") == std::string::npos) statement_.clear();
    if (depth_ > 0) return;
    body_->end();
    body_.reset();
  }

  /// Braces before a statement open or close a scope, whose registers have names of their own.
  void end_statement() {
    const auto begin = statement_.find_first_not_of(" \t{}");
    if (begin != std::string::npos) body_->statement(statement_.substr(begin), number_);
    statement_.clear();
  }

  std::string file_, statement_;
  int number_ = 0, depth_ = 0;
  bool is_in_head_ = false;
  std::vector<Kernel> kernels_;
  std::vector<Declaration> parameters_;
  std::unique_ptr<Body> body_;
  std::vector<std::string> dynamic_;
  std::map<std::string, SourceFile> source_files_;
};

}  // namespace

std::vector<Kernel> parse(const std::string& text, const std::string& file) {
  Reader reader(file);
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.line(line);
  return reader.take();
}

}  // namespace cuda_on_host::ptx
