#include "data/vocabulary.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t max_pieces = 2147483647;  // as [model] vocabulary_size
// Three control pieces, the line end and 256 bytes come before anything is learned.
constexpr std::int64_t min_pieces = 261;
constexpr std::size_t max_line_bytes = 16384;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// The lines of the texts, long ones in pieces, as SentencePiece wants them.
class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<MappedFile>& texts) : texts_(texts) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  void Next() override {
    while (file_ < texts_.size() && position_ >= texts_[file_].bytes().size()) {
      ++file_;
      position_ = 0;
    }
    done_ = file_ == texts_.size();
    if (done_) return;
    const std::string_view rest = text_of(texts_[file_]).substr(position_);
    const std::size_t size = std::min({rest.find('\n'), rest.size(), max_line_bytes});
    line_ = rest.substr(0, size);
    position_ += size + (size < rest.size() && rest[size] == '\n' ? 1 : 0);
  }

 private:
  const std::vector<MappedFile>& texts_;
  std::size_t file_ = 0;
  std::size_t position_ = 0;
  std::string line_;
  bool done_ = false;
};

std::unordered_map<std::string, std::string> trainer_options(std::int64_t num_pieces) {
  return {{"model_type", "bpe"},
          {"vocab_size", std::to_string(num_pieces)},
          {"character_coverage", "0.9999"},
          // Nothing of the text is lost: no normalisation, bytes for rare characters, a piece for
          // line ends.
          {"normalization_rule_name", "identity"},
          {"byte_fallback", "true"},
          {"add_dummy_prefix", "false"},
          {"remove_extra_whitespaces", "false"},
          {"user_defined_symbols", trained_line_end},
          {"max_sentence_length", std::to_string(max_line_bytes + 1)},
          {"num_threads", "1"},
          {"minloglevel", "3"}};
}

}  // namespace

Vocabulary::Vocabulary(std::string serialized, const std::string& where)
    : serialized_(std::move(serialized)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const auto status = processor_->LoadFromSerializedProto(serialized_);
  if (!status.ok()) {
    throw_bad_input({where, "this is no SentencePiece model", status.ToString(),
                     "name a .model file of SentencePiece"});
  }
}

Vocabulary::Vocabulary(Vocabulary&&) noexcept = default;
Vocabulary::~Vocabulary() = default;

Vocabulary Vocabulary::read(const std::string& path) {
  const MappedFile file(path, "--model");
  return {std::string(text_of(file)), path};
}

Vocabulary Vocabulary::train(const std::vector<MappedFile>& texts, std::int64_t num_pieces) {
  if (num_pieces < min_pieces || num_pieces > max_pieces) {
    throw_bad_input(
        {"--train-vocabulary", fmt::format("{} pieces are out of range", num_pieces),
         fmt::format(
             "the smallest vocabulary has {} (256 bytes, line end, control pieces, one to learn)",
             min_pieces),
         fmt::format("use {} to {}", min_pieces, max_pieces)});
  }
  Lines lines(texts);
  std::string serialized;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(trainer_options(num_pieces), &lines, &serialized);
  if (!status.ok()) {
    throw_bad_input({"--train-vocabulary",
                     fmt::format("no model with {} pieces can be trained on this text", num_pieces),
                     status.ToString(), "use another number of pieces or more text"});
  }
  return {std::move(serialized), "--train-vocabulary"};
}

std::int64_t Vocabulary::size() const { return processor_->GetPieceSize(); }

const std::string& Vocabulary::piece(std::uint32_t token) const {
  return processor_->IdToPiece(static_cast<int>(token));
}

std::vector<std::uint32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = processor_->Encode(text, &ids);
  PPTRAIN_ASSERT(status.ok(), "SentencePiece: {}", status.ToString());
  return {ids.begin(), ids.end()};
}

std::string Vocabulary::decode(const std::vector<std::uint32_t>& tokens) const {
  std::string text;
  const auto status = processor_->Decode(std::vector<int>(tokens.begin(), tokens.end()), &text);
  PPTRAIN_ASSERT(status.ok(), "SentencePiece: {}", status.ToString());
  return text;
}

}  // namespace pptrain
