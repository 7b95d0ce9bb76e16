// Makes JSON of what writers of traces left that is none.
#pragma once

#include <string>
#include <string_view>

namespace hone::trace::kineto {

// `text` with empty values and NaN replaced by null, commas too many left out, raw control characters
// and wrong escapes in strings escaped, quotes inside strings escaped (a quote ends a string only if what
// follows could follow a string), bytes that are no UTF-8 replaced by U+FFFD. Valid JSON comes back as it is.
std::string mended(std::string_view text);

// After the '}' that closes the object at the start of `text`, quotes respected; npos: it is not closed.
std::size_t object_end(std::string_view text);

}  // namespace hone::trace::kineto
