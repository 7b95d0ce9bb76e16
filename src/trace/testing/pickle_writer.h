// Pickles of plain data for tests, as Python's protocol 4 writes them but for what it remembers. Not part of the product.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::trace::pickles {

inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string text(std::string_view value) {
  return "X" + little_endian(value.size(), 4) + std::string(value);
}

inline std::string integer(int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<uint64_t>(value), 8);
}

inline std::string list(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) bytes += item;
  return bytes + "e";
}

inline std::string dict(const std::vector<std::pair<std::string_view, std::string>>& pairs) {
  std::string bytes = "}(";
  for (const auto& [key, value] : pairs) bytes += text(key) + value;
  return bytes + "u";
}

inline std::string pickle(const std::string& root) { return "\x80\x04" + root + "."; }

// A stack of one own function in one of PyTorch's, the innermost first.
inline std::string frames(std::string_view own, int64_t line) {
  return list({dict({{"filename", text("??")}, {"line", integer(0)}, {"name", text("at::empty_cuda")}}),
               dict({{"filename", text("/usr/lib/python3/dist-packages/torch/nn/functional.py")},
                     {"line", integer(2901)},
                     {"name", text("layer_norm")}}),
               dict({{"filename", text("/home/u/train.py")}, {"line", integer(line)}, {"name", text(own)}})});
}

struct WrittenEvent {
  std::string_view action;
  uint64_t address;
  int64_t bytes;
  int64_t time_us;
  std::string stack = list({});
};

inline std::string event(const WrittenEvent& from) {
  return dict({{"action", text(from.action)},
               {"addr", integer(static_cast<int64_t>(from.address))},
               {"size", integer(from.bytes)},
               {"stream", integer(0)},
               {"time_us", integer(from.time_us)},
               {"frames", from.stack}});
}

struct WrittenBlock {
  uint64_t address;
  int64_t bytes;
  bool in_use;
  std::string stack = list({});
};

inline std::string segment(uint64_t address, int64_t bytes, const std::vector<WrittenBlock>& blocks) {
  std::vector<std::string> rows;
  for (const WrittenBlock& block : blocks)
    rows.push_back(dict({{"address", integer(static_cast<int64_t>(block.address))},
                         {"size", integer(block.bytes)},
                         {"requested_size", integer(block.bytes)},
                         {"state", text(block.in_use ? "active_allocated" : "inactive")},
                         {"frames", block.stack}}));
  return dict({{"device", integer(0)},
               {"address", integer(static_cast<int64_t>(address))},
               {"total_size", integer(bytes)},
               {"blocks", list(rows)}});
}

inline std::string snapshot(const std::vector<std::string>& segments,
                            const std::vector<std::string>& events) {
  return pickle(dict({{"segments", list(segments)}, {"device_traces", list({list(events)})}}));
}

}  // namespace hone::trace::pickles
