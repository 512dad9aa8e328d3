#pragma once

#include <functional>

namespace pptrain {

/// Cores that this process may use, at least one.
int usable_cores();

/// Calls `visit(thread, i)` for each i in [0, count) on at most `threads` threads, numbered from 0,
/// the calling one among them; which thread gets which i is not said. Where the system starts no
/// more threads, those that it did start do all of it, so that no call may wait for one that has
/// not begun. Returns when all calls have.
/// The first exception that a call throws is thrown again, once no call runs any more; calls that
/// have not begun by then are left out.
void parallel_for(int count, int threads, const std::function<void(int thread, int i)>& visit);

}  // namespace pptrain
