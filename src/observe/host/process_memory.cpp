#include "observe/host/process_memory.h"

#include <algorithm>

#include <sys/uio.h>

namespace hone::observe {

bool ProcessMemory::read(uint64_t address, void* to, std::size_t bytes) const {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool ProcessMemory::copy(uint64_t address, void* to, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const uint64_t start = address & ~uint64_t{kPage - 1};
    auto page = pages_.find(start);
    if (page == pages_.end()) {
      Page fresh;
      if (!read(start, fresh.data(), kPage)) return false;
      page = pages_.emplace(start, fresh).first;
    }
    const std::size_t within = address - start, part = std::min(bytes, kPage - within);
    std::memcpy(target, page->second.data() + within, part);
    target += part;
    address += part;
    bytes -= part;
  }
  return true;
}

std::optional<std::string> ProcessMemory::bytes(uint64_t address, std::size_t count) {
  std::string text(count, '\0');
  if (!copy(address, text.data(), count)) return std::nullopt;
  return text;
}

std::optional<std::string> ProcessMemory::text(uint64_t address, std::size_t most) {
  std::string text;
  while (text.size() < most) {
    const auto next = value<char>(address + text.size());
    if (!next) return std::nullopt;
    if (*next == '\0') return text;
    text += *next;
  }
  return text;
}

}  // namespace hone::observe
