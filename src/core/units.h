// Numbers with units, as people read them. One place, so that every table and report spells them alike.
#pragma once

#include <string>

namespace hone {

std::string format_ms(double milliseconds);       // "12.3 ms", "45.6 µs", "2.10 s"
std::string format_bytes(double bytes);           // "1.50 MiB"
std::string format_flops(double flops);           // "3.20 GFLOP"
std::string format_flop_rate(double per_second);  // "250 GFLOP/s"
std::string format_byte_rate(double per_second);  // "35.1 GB/s" (decimal, as vendors and STREAM count)
std::string format_count(double count);           // "25.6 M"
std::string format_intensity(double intensity);   // "14.0 FLOP/byte"
std::string format_percent(double fraction);      // 0.123 → "12.3 %"

}  // namespace hone
