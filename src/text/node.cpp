#include "text/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/names.hpp"
#include "text/utf8.hpp"

namespace pptrain {

void TokenizerNode::allow_keys(const std::vector<std::string>& known) const {
  if (!value_->is_object())
    refuse("must be an object", found(), "take the file as it was published");
  for (const auto& [key, member] : value_->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    refuse(fmt::format("unknown key \"{}\"", shown(key)), "it may change the tokens",
           "leave the key out where it changes nothing; known keys: " + join(known));
  }
}

bool TokenizerNode::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key) && !value_->at(key).is_null();
}

TokenizerNode TokenizerNode::at(const std::string& key) const {
  if (!value_->is_object())
    refuse("must be an object", found(), "take the file as it was published");
  const std::string path = path_.empty() ? key : path_ + "." + key;
  const auto member = value_->find(key);
  if (member == value_->end())
    throw_bad_input({source_ + ": " + path, "is missing", "", "take the file as it was published"});
  return {*member, source_, path};
}

std::vector<TokenizerNode> TokenizerNode::elements() const {
  if (!value_->is_array()) refuse("must be an array", found(), "take the file as it was published");
  std::vector<TokenizerNode> nodes;
  nodes.reserve(value_->size());
  for (const nlohmann::json& element : *value_)
    nodes.push_back(TokenizerNode(element, source_, fmt::format("{}[{}]", path_, nodes.size())));
  return nodes;
}

std::string TokenizerNode::string() const {
  if (!value_->is_string()) refuse("must be a string", found(), "put it in quotes");
  return value_->get<std::string>();
}

bool TokenizerNode::boolean() const {
  if (!value_->is_boolean()) refuse("must be true or false", found(), "write it without quotes");
  return value_->get<bool>();
}

bool TokenizerNode::boolean_or(const std::string& key, bool otherwise) const {
  return has(key) ? at(key).boolean() : otherwise;
}

double TokenizerNode::number() const {
  if (!value_->is_number()) refuse("must be a number", found(), "write it without quotes");
  return value_->get<double>();
}

std::int64_t TokenizerNode::whole_number() const {
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() ||
                     value_->get<std::uint64_t>() <= std::numeric_limits<int>::max());
  const std::int64_t number = fits ? value_->get<std::int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max())
    refuse("must be a whole number from 0 to 2147483647", found(), "correct the number");
  return number;
}

std::uint32_t TokenizerNode::token() const { return static_cast<std::uint32_t>(whole_number()); }
std::size_t TokenizerNode::count() const { return static_cast<std::size_t>(whole_number()); }

char32_t TokenizerNode::character() const {
  const std::string text = string();
  const CodePoint first = code_point_at(text, 0);
  if (text.empty() || first.size != text.size())
    refuse("must be one character", found(), "give one character");
  return first.value;
}

std::string TokenizerNode::place() const {
  return path_.empty() ? source_ : source_ + ": " + path_;
}

void TokenizerNode::refuse(const std::string& problem, const std::string& reason,
                           const std::string& remedy) const {
  throw_bad_input({place(), problem, reason, remedy});
}

void TokenizerNode::refuse_type(const std::string& what,
                                const std::vector<std::string>& known) const {
  at("type").refuse(
      fmt::format("the {} \"{}\" is not known", what, shown(type())), "known: " + join(known),
      "use another tokenizer, or tokenize with Hugging Face's library and read the tokens");
}

std::string TokenizerNode::found() const {
  if (value_->is_object()) return "it is an object";
  if (value_->is_array()) return fmt::format("it is an array of {}", value_->size());
  return "it is " + shown(value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace pptrain
