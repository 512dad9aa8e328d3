#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pptrain {

/// A value that a key of `config.json` may be held to.
using ConfigValue = std::variant<bool, std::int64_t, double, std::string>;

/// The `config.json` of a model, or an object in it: typed access by key, which notes every key
/// that is asked for. `finish` refuses what nobody asked for, so that no key that changes the
/// numbers is passed over.
///
/// `null` is what transformers writes for "not set": getters take it as a key that is left out;
/// `is_null` tells the two apart where a family's default differs from "none". Getters without a
/// fallback refuse a key that is left out. All that is refused throws `Error` (exit code 2) with
/// file, line, key, reason and what to do.
///
/// Copies are cheap and note keys together; a copy may outlive the original.
class ConfigJson {
 public:
  /// FOLDER/config.json.
  static ConfigJson read(const std::string& folder);
  /// A text at hand; messages name `source` in place of a file.
  static ConfigJson parse(const std::string& text, const std::string& source);

  /// The family. One that is not among `known` is refused with their list.
  std::string model_type(const std::vector<std::string>& known) const;

  /// Whether the key is there and not null. Does not count as asking for it.
  bool has(const std::string& key) const;
  /// Whether the key is there as `null`. Does not count as asking for it.
  bool is_null(const std::string& key) const;

  /// A whole number.
  std::int64_t integer(const std::string& key,
                       std::optional<std::int64_t> fallback = std::nullopt) const;
  /// A whole number from 1 to `most`: a dimension or a count.
  std::int64_t size(const std::string& key, std::optional<std::int64_t> fallback = std::nullopt,
                    std::int64_t most = std::numeric_limits<std::int32_t>::max()) const;
  /// A finite number.
  double number(const std::string& key, std::optional<double> fallback = std::nullopt) const;
  /// True or false; `fallback` where the key is left out.
  bool boolean(const std::string& key, std::optional<bool> fallback = std::nullopt) const;
  /// A string; `fallback` where the key is left out.
  std::string text(const std::string& key,
                   std::optional<std::string> fallback = std::nullopt) const;
  /// A list of texts, as `layer_types`; none where the key is left out.
  std::vector<std::string> texts(const std::string& key) const;
  /// A list of whole numbers, as `mlp_only_layers`; none where the key is left out.
  std::vector<std::int64_t> integers(const std::string& key) const;
  /// A list of whole numbers and texts, as `cfg` of VGG, all as texts; it must be there.
  std::vector<std::string> mixed(const std::string& key) const;
  /// How many entries an object has, as `id2label`; whatever they are.
  std::int64_t num_entries(const std::string& key, std::int64_t fallback) const;
  /// An object in this one, whose keys are noted too; it must be there.
  ConfigJson object(const std::string& key) const;

  /// Refuses any other value of a key than this one, where it is there: `reason` says why. Whole
  /// numbers and others are compared as numbers.
  void only(const std::string& key, const ConfigValue& value, const std::string& reason) const;

  /// Refuses the value of a key, or of the whole object where `key` is "".
  [[noreturn]] void refuse(const std::string& key, const std::string& problem,
                           const std::string& reason, const std::string& suggestion) const;

  /// Refuses the keys that nobody asked for, here and in objects that were asked for, but those
  /// that are `null`, those of `harmless_config_keys` at the top, and these. Those of `ignored`,
  /// which change nothing whatever they are, and of `neutral_config_keys` pass with a notice.
  void finish(const std::vector<std::string>& also_harmless = {},
              const std::vector<std::string>& ignored = {}) const;

 private:
  struct Record;
  ConfigJson(std::shared_ptr<Record> record, const nlohmann::ordered_json* object,
             std::string path);

  const nlohmann::ordered_json* find(const std::string& key) const;
  const nlohmann::ordered_json& at(const std::string& key) const;
  [[noreturn]] void refuse_type(const std::string& key, const std::string& wanted) const;
  std::string place_of(const std::string& key) const;
  std::vector<std::string> passed_over(const std::vector<std::string>& harmless,
                                       const std::vector<std::string>& ignored) const;
  void collect_unknown(const std::vector<std::string>& harmless, std::vector<std::string>& paths,
                       std::string& first_place) const;

  std::shared_ptr<Record> record_;
  const nlohmann::ordered_json* object_;
  std::string path_;  ///< of this object, with a point behind; "" at the top
};

/// A key that changes no number of a training, and why.
struct HarmlessKey {
  std::string key;
  std::string reason;
};

/// Keys that no family needs to ask for.
const std::vector<HarmlessKey>& harmless_config_keys();

/// A key that changes nothing with one value, where no family asks for it; with another one it
/// might.
struct NeutralKey {
  std::string key;
  std::string value;  ///< as JSON; "": any
  std::string reason;
};

/// Keys that published files have beside those that transformers reads, or that it writes and no
/// family here has.
const std::vector<NeutralKey>& neutral_config_keys();

}  // namespace pptrain
