#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pattern.hpp"

#include <pcre2.h>

#include <array>

#include "base/error.hpp"
#include "text/oniguruma.hpp"

namespace pptrain {
namespace {

// Groups that repeat keep a frame for each time, so that a stack of PCRE2's own 32 KiB is soon
// full.
constexpr std::size_t jit_stack_start = std::size_t{32} << 10;
constexpr std::size_t jit_stack_limit = std::size_t{8} << 20;
constexpr std::uint32_t heap_limit_kibibytes = 64 << 10;

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR8, 256> text = {};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

PCRE2_SPTR8 bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR8>(text.data()); }

struct FreeCompileContext {
  void operator()(pcre2_compile_context_8* context) const { pcre2_compile_context_free(context); }
};

}  // namespace

struct MatchMemory::Parts {
  pcre2_match_data_8* data = pcre2_match_data_create(1, nullptr);  // where the match is; groups are
                                                                   // not asked for
  pcre2_match_context_8* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack_8* stack = pcre2_jit_stack_create(jit_stack_start, jit_stack_limit, nullptr);
};

MatchMemory::MatchMemory() : parts_(std::make_unique<Parts>()) {
  if (parts_->data == nullptr || parts_->context == nullptr || parts_->stack == nullptr)
    throw std::bad_alloc();
  pcre2_jit_stack_assign(parts_->context, nullptr, parts_->stack);
  pcre2_set_heap_limit(parts_->context, heap_limit_kibibytes);
}

MatchMemory::~MatchMemory() {
  pcre2_jit_stack_free(parts_->stack);
  pcre2_match_context_free(parts_->context);
  pcre2_match_data_free(parts_->data);
}

struct Pattern::Compiled {
  Compiled(pcre2_code_8* made, std::string place) : code(made), where(std::move(place)) {
    jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;  // not on every processor
  }
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  pcre2_code_8* code;
  std::string where;
  bool jit = false;
};

Pattern::Pattern(std::string_view expression, unsigned options, const std::string& where) {
  const std::unique_ptr<pcre2_compile_context_8, FreeCompileContext> context(
      pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE at = 0;
  pcre2_code_8* compiled =
      pcre2_compile(bytes_of(expression), expression.size(), options, &code, &at, context.get());
  if (compiled == nullptr) {
    throw_bad_input({where, "the pattern cannot be read", pcre2_message(code),
                     "correct the pattern, or use a tokenizer whose patterns are known to work"});
  }
  compiled_ = std::make_shared<const Compiled>(compiled, where);
}

Pattern Pattern::regex(std::string_view expression, const std::string& where) {
  return {to_pcre2(expression, where), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, where};
}

Pattern Pattern::literal(std::string_view text, const std::string& where) {
  return {text, PCRE2_UTF | PCRE2_LITERAL, where};
}

std::optional<TextRange> Pattern::find(std::string_view text, std::size_t from,
                                       MatchMemory& memory) const {
  const MatchMemory::Parts& parts = *memory.parts_;
  const int found = compiled_->jit
                        ? pcre2_jit_match(compiled_->code, bytes_of(text), text.size(), from,
                                          PCRE2_NO_UTF_CHECK, parts.data, parts.context)
                        : pcre2_match(compiled_->code, bytes_of(text), text.size(), from,
                                      PCRE2_NO_UTF_CHECK, parts.data, parts.context);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) {
    throw_bad_input({compiled_->where, "the pattern gives up on this text", pcre2_message(found),
                     "use a pattern with fewer repetitions inside of repetitions"});
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(parts.data);
  return TextRange{range[0], range[1]};
}

}  // namespace pptrain
