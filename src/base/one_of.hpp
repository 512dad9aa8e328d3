#pragma once

#include <concepts>

namespace pptrain {

/// Whether a type is one of a list: a call for `one_of<A, B> auto` takes these, so that who visits
/// a variant names each of its types, and the compiler tells of one that is forgotten.
template <class T, class... Types>
concept one_of = (std::same_as<T, Types> || ...);

}  // namespace pptrain
