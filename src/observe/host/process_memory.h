// Another process's memory, read while it runs (process_vm_readv): what is read may change meanwhile, and is judged by
// whoever reads it. Permitted of processes that hone started, unless the system forbids all such reading.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>

namespace hone::observe {

// Not thread-safe.
class ProcessMemory {
 public:
  explicit ProcessMemory(int pid) : pid_(pid) {}

  int pid() const { return pid_; }
  // False: not all of it can be read; what `to` holds then means nothing.
  bool read(uint64_t address, void* to, std::size_t bytes) const;

  // By pages, each read once until forget(): what lies side by side is asked for piece by piece.
  template <typename Value>
  std::optional<Value> value(uint64_t address) {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    if (!copy(address, &value, sizeof(Value))) return std::nullopt;
    return value;
  }
  std::optional<std::string> bytes(uint64_t address, std::size_t count);
  // Up to the zero, no longer than `most`.
  std::optional<std::string> text(uint64_t address, std::size_t most = 64);
  void forget() { pages_.clear(); }

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;
  bool copy(uint64_t address, void* to, std::size_t bytes);

  int pid_;
  std::unordered_map<uint64_t, Page> pages_;
};

}  // namespace hone::observe
