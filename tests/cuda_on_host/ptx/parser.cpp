#include "parser.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "kernel_builder.hpp"
#include "stand_in.hpp"
#include "words.hpp"

namespace cuda_on_host::ptx {
namespace {

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
    kernels_.back().symbol = text.substr(at, text.find('(') - at);
    kernels_.back().name = demangled(kernels_.back().symbol);
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
      body_ = std::make_unique<KernelBuilder>(kernels_.back(), parameters_);
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
  std::unique_ptr<KernelBuilder> body_;
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
