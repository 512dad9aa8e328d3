#pragma once

#include <vector>

#include "comm/communicator.hpp"

namespace pptrain {

/// Members of a group tell each other when they came, in seconds of the host's clock.
class Meeting final : public Pending {
 public:
  /// Meetings of one group come in one order on all its members; groups of one tag do so on each
  /// pair that both have. Collective over the group: this rank and the `others`.
  Meeting(Transport& transport, const std::vector<RankId>& others, int tag, double time);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  bool test() override;
  std::string missing() const override;
  /// When the last member came; known once it has ended.
  double last() const;

 private:
  double time_;
  std::vector<double> times_;  ///< of the others
  std::vector<PendingPtr> pending_;
};

}  // namespace pptrain
