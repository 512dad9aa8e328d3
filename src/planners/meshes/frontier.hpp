#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace pptrain {

/// Whether `label` belongs to a Pareto frontier: false where an entry covers it, and nothing
/// changes then; else the entries that it covers are taken out, and the caller appends it. Entries
/// keep their order. `covers(a, b)` says whether b is needless beside a; `label_of` gives the label
/// of an entry, for frontiers that keep only its index.
template <class Entry, class Label, class Covers, class LabelOf = std::identity>
bool admit(std::vector<Entry>& frontier, const Label& label, const Covers& covers,
           const LabelOf& label_of = {}) {
  for (const Entry& entry : frontier) {
    if (covers(label_of(entry), label)) return false;
  }
  std::erase_if(frontier, [&](const Entry& entry) { return covers(label, label_of(entry)); });
  return true;
}

/// Labels of a search, which stay where they are so that one can name another by its index.
template <class Label>
class LabelPool {
 public:
  void clear() { labels_.clear(); }  ///< forgets all labels; numbering begins at 0 again
  /// The reference is valid until a label is added.
  const Label& operator[](int index) const { return labels_[index]; }
  /// The index of a label that is added.
  int add(const Label& label) {
    labels_.push_back(label);
    return static_cast<int>(labels_.size()) - 1;
  }
  /// Adds the label to a frontier of indices unless an entry covers it (`admit`); whether it was
  /// added.
  template <class Covers>
  bool insert(std::vector<int>& frontier, const Label& label, const Covers& covers) {
    const auto label_of = [this](int index) -> const Label& { return labels_[index]; };
    if (!admit(frontier, label, covers, label_of)) return false;
    frontier.push_back(add(label));
    return true;
  }

 private:
  std::vector<Label> labels_;
};

}  // namespace pptrain
