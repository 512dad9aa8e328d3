#include "optim/whole_update.hpp"

namespace pptrain {

std::unique_ptr<WholeUpdate> make_whole_update(const WholeContext& context, const UpdateGroups& groups,
                                               std::vector<WholeRun> runs) {
  if (context.config.name == "adafactor") return make_adafactor(context, groups, std::move(runs));
  return make_muon(context, groups, std::move(runs));
}

}  // namespace pptrain
