// Numbers with units, as people read them. One place, so that every table and report spells them alike.
#pragma once

#include <string>
#include <string_view>

namespace hone {

std::string format_ms(double milliseconds);  // "12.3 ms", "45.6 µs", "2.10 s", "60.0 min"
// A part of a step with the unit and the decimals that the step has, so that the same time reads the same in
// sentences and tables, and digits line up in columns: in hundredths of a millisecond, of a step below one in
// tenths of a microsecond ("31.2 µs"), of one above a second in whole milliseconds, of one above ten seconds
// in hundredths of a second ("12.34 s"). What would read as nothing and is something: "<0.01 ms".
std::string fixed_ms(double ms, double step_ms);
std::string fixed_number(double ms, double step_ms);  // without the unit
// "21.20 to 21.24 ms": the ends of an interval; of one that reads as a point, that point.
std::string fixed_range(double low_ms, double high_ms, double step_ms);

std::string format_bytes(double bytes);           // "1.50 MiB"
std::string format_flops(double flops);           // "3.20 GFLOP"
std::string format_flop_rate(double per_second);  // "250 GFLOP/s"
std::string format_byte_rate(double per_second);  // "35.1 GB/s" (decimal, as vendors and STREAM count)
std::string format_count(double count);           // "25.6 M"
std::string format_intensity(double intensity);   // "14.0 FLOP/byte"
std::string format_percent(double fraction);      // 0.123 → "12.3 %"
std::string format_factor(double factor);         // "1.98×", "12.3×", "3.60 M×"

// "1 step", "3 steps", "1.5 gaps"; nouns whose plural is another are given it.
std::string counted(double count, std::string_view noun, std::string_view plural = "");

}  // namespace hone
