// Values as they stand in the JSON text: numbers, times and strings, without making a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone::trace::kineto {

// The text of a JSON string between its quotes; of anything else, the text itself.
std::string_view unquoted(std::string_view token);
// Escapes resolved ("\n", "\u00e9"); wrong ones are left as they stand.
std::string unescaped(std::string_view text);

// 12, "12", 12.7 (12); nothing for what is no number or beyond 64 bits.
std::optional<int64_t> integer_of(std::string_view token);
std::optional<double> number_of(std::string_view token);
// Microseconds with a fraction, exactly, as nanoseconds. Nothing for what is no number or beyond ±2^61 ns.
std::optional<int64_t> nanoseconds_of(std::string_view token);
// "[320, 1, 1]": up to `most` numbers; returns how many.
std::size_t integers_of(std::string_view list, int64_t* into, std::size_t most);

}  // namespace hone::trace::kineto
