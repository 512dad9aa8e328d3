#pragma once

#include <functional>

#include "comm/alarm.hpp"
#include "comm/waiter.hpp"

namespace pptrain {

/// Runs work that communicates and may fail on any rank at any time. A rank that fails by itself
/// raises the alarm, which ends the waits of the others; then all throw the same `Error`
/// (`ThrownBy::all_ranks`): that of the lowest rank that failed by itself. Where a rank waited
/// longer for another than it may, as for one that stands still, or one does not answer within
/// `timeout_seconds`, each throws its own. Returns when all have ended well. Collective over the
/// ranks of the alarm. What messages of the work go to or come from has to outlive this.
void fail_together(Alarm& alarm, double timeout_seconds, const std::function<void()>& work);

}  // namespace pptrain
