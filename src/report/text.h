// Text as all forms of the report need it: cleaned, measured and shortened in characters, not bytes.
#pragma once

#include <string>
#include <string_view>

#include "analyze/findings.h"

namespace hone::report {

// Valid UTF-8 without control characters: whatever is neither becomes U+FFFD; line breaks and tabs become
// spaces, characters that reorder or hide their neighbours their number: "<U+202E>".
std::string clean_utf8(std::string_view text);

// Code points, which is columns for the letters that model names and hone's own words are made of.
std::size_t columns(std::string_view text);

// At most `limit` columns; the middle gives way to "…", because names of operators differ at their ends.
std::string shortened(std::string_view text, std::size_t limit);

// At most `limit` columns; the end gives way to "…".
std::string clipped(std::string_view text, std::size_t limit);
// A name and what tells it apart: the name stays whole as long as it fits, the rest is clipped.
std::string titled(std::string_view name, std::string_view detail, std::size_t limit);

// With a no-break space between a number and its unit.
std::string bind_units(std::string_view text);

// Padded with spaces to `width` columns.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

// A bar of `width` columns of which `fraction` is filled, in eighths of a column.
std::string bar(double fraction, std::size_t width);

// "2.01×", and "2.01× (1.97 to 2.05)".
std::string ratio_text(double ratio);
std::string ratio_text(const analyze::Estimate& ratio);
// "20.6 ms (20.4 to 20.9)": an estimate with its interval.
std::string estimate_ms(const analyze::Estimate& ms);
// "3.1e-06", "0".
std::string error_text(double relative_error);

}  // namespace hone::report
