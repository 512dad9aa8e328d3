#pragma once

#include <string>

namespace pptrain {

/// The page of the devices and nodes that are known by name, with the source of each row.
std::string catalogue_page();

}  // namespace pptrain
