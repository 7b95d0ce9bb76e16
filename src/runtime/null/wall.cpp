#include "runtime/null/wall.h"

#include <cstring>
#include <stdexcept>

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/tensor.h"
#include "core/units.h"

namespace hone::runtime {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)); }

}  // namespace

Wall::~Wall() {
  for (const auto& [address, pages] : blocks_) munmap(pages.start, pages.bytes + page_bytes());
}

Result<std::byte*> Wall::allocate(std::size_t bytes) {
  const std::size_t used = round_up(bytes > 0 ? bytes : 1, kTensorAlignment);
  const Pages pages{nullptr, round_up(used, page_bytes())};
  void* const mapped = mmap(nullptr, pages.bytes + page_bytes(), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return invalid(
        fmt::format("not enough memory for a block of {}", format_bytes(static_cast<double>(bytes))));
  const Pages placed{static_cast<std::byte*>(mapped), pages.bytes};
  std::byte* const block = placed.start + (placed.bytes - used);
  protect(placed, true);
  std::memset(block, 0xff, used);
  const std::lock_guard lock(mutex_);
  protect(placed, openings_ > 0);
  blocks_.emplace(block, placed);
  return block;
}

void Wall::release(std::byte* block) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) throw std::logic_error("Wall::release: no such block");
  munmap(found->second.start, found->second.bytes + page_bytes());
  blocks_.erase(found);
}

bool Wall::holds(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(byte);
  if (after == blocks_.begin()) return false;
  const Pages& pages = std::prev(after)->second;
  return byte < pages.start + pages.bytes;
}

void Wall::open() {
  const std::lock_guard lock(mutex_);
  if (++openings_ > 1) return;
  for (const auto& [address, pages] : blocks_) protect(pages, true);
}

void Wall::close() {
  const std::lock_guard lock(mutex_);
  if (--openings_ > 0) return;
  for (const auto& [address, pages] : blocks_) protect(pages, false);
}

void Wall::protect(const Pages& pages, bool opened) const {
  if (mprotect(pages.start, pages.bytes, opened ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
    throw std::runtime_error("Wall: the system refuses to protect memory");
}

}  // namespace hone::runtime
