#pragma once

#include <memory>
#include <string>

#include "comm/direct_groups.hpp"

namespace pptrain {

/// Groups over NCCL of a device that is a GPU; null where pptrain was built without NCCL. The
/// device must outlive it, and it the groups.
std::unique_ptr<DirectGroups> make_nccl_groups(Device& device);

}  // namespace pptrain
