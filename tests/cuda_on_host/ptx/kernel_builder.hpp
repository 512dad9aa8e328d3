#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernel.hpp"
#include "words.hpp"

namespace cuda_on_host::ptx {

/// Makes a kernel of the statements of its body, one after the other. What is not known of the
/// language ends the program with a message (`fault`).
class KernelBuilder {
 public:
  /// `kernel` gets what the statements say; it outlives the builder.
  KernelBuilder(Kernel& kernel, const std::vector<Declaration>& parameters);

  /// Shared memory whose size a launch gives: it begins behind what the kernel declares, which is
  /// known at the end.
  void dynamic_shared(const std::string& name);
  /// A name of the place before the next instruction, which branches go to.
  void label(const std::string& name);
  /// Sets the place in the sources, such as "1:12", that the next instructions come from.
  void source(const std::string& place);
  /// A statement without its semicolon, and its line in the file.
  void statement(const std::string& text, int line);
  /// Finds the targets of branches, once all statements were read.
  void end();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void declare(const std::string& text);
  int new_register(Register value);
  /// The place of a register, number or symbol; "_" has none.
  int place_of(const std::string& operand);
  /// What a thread finds in the place of an operand.
  Register first_value(const std::string& operand) const;
  void append(const Instruction& one);
  void instruction(std::string text);
  /// Whether an instruction says what is executed next, or who waits for whom.
  bool control(Instruction& one, const std::string& opcode,
               const std::vector<std::string>& operands);
  /// `shfl.sync.bfly.b32 d|p, a, b, c, mask`; operands: a, b, c, mask.
  void shuffle(Instruction& one, const std::string& mode, const std::vector<std::string>& operands);
  /// `ld.global.v4.f32 {a, b, c, d}, [address+16]` and `st.shared.u8 [address], a`.
  bool memory(Instruction& one, const std::string& opcode,
              const std::vector<std::string>& operands);
  /// `mov.b32 %r1, {%h1, %h2}` and `mov.b32 {%h1, %h2}, %r1`.
  bool parts(Instruction& one, const std::string& opcode, const std::vector<std::string>& operands);
  /// The parts of `{%f1, %f2}`, or the operand alone.
  static std::vector<std::string> elements(const std::string& operand);

  Kernel& kernel_;
  std::map<std::string, std::uint64_t> symbols_;  // with their addresses
  std::vector<std::string> dynamic_;
  std::map<std::string, int> registers_, labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;  // with their labels
  int line_ = 0, source_ = 0;
  std::string text_;
};

}  // namespace cuda_on_host::ptx
