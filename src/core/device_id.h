// Where a value lies, as graphs say it: in the host's memory, or in that of a device by its number. Which
// device a number stands for is known where the graph is made a plan; 0 is the one that runs all that names
// no other.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

class DeviceId {
 public:
  constexpr DeviceId() = default;  // device 0
  constexpr explicit DeviceId(uint8_t number) : number_(number) {}
  static constexpr DeviceId host() { return DeviceId(kHost); }

  constexpr bool is_host() const { return number_ == kHost; }
  constexpr uint8_t number() const { return number_; }  // unless is_host()
  friend constexpr bool operator==(DeviceId, DeviceId) = default;

  // "host", "device0", "device1".
  std::string text() const { return is_host() ? "host" : "device" + std::to_string(number_); }
  static std::optional<DeviceId> from_text(std::string_view text) {
    if (text == "host") return host();
    if (!text.starts_with("device")) return std::nullopt;
    uint8_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data() + 6, end, number);
    if (failed != std::errc() || stop != end || number == kHost) return std::nullopt;
    return DeviceId(number);
  }

 private:
  static constexpr uint8_t kHost = 255;
  uint8_t number_ = 0;
};

}  // namespace hone
