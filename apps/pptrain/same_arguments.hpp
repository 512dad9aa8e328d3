#pragma once

namespace pptrain {

/// Ranks that were started with different arguments would wait for each other in vain: where some
/// differ from those of rank 0 all ranks throw `Error` (exit code 2). Collective over all ranks.
void check_same_arguments(int argc, char** argv);

}  // namespace pptrain
