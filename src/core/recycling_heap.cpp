// Blocks are cut from one range of addresses, set aside when first needed: an address tells whether its memory
// is a block. A header before each says whose it is.
#include "core/recycling_heap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace hone {
namespace internal {

std::atomic<std::uintptr_t> heap_range{std::uintptr_t{1} << 63};
constinit thread_local HeapBlocks* heap_in_use = nullptr;

namespace {

constexpr std::size_t kHeaderBytes = 64;  // so that what follows is aligned as tensors are
constexpr std::size_t kPage = 4096;
constexpr std::size_t kCommit = std::size_t{1} << 20;  // at least so much is made usable at once
// Sizes of blocks: powers of two from 128 bytes, and the halves between them.
constexpr std::size_t kSmallest = 7;
constexpr std::size_t kClasses = 2 * (std::bit_width(kHeapRange) - kSmallest);

constexpr std::size_t bytes_of_class(std::size_t index) {
  const std::size_t power = std::size_t{1} << (kSmallest + index / 2);
  return index % 2 == 0 ? power : power + power / 2;
}

constexpr std::size_t class_of(std::size_t bytes) {
  const auto below = static_cast<std::size_t>(std::bit_width((bytes > 128 ? bytes : 128) - 1)) - 1;
  if (bytes <= 128) return 0;
  const std::size_t index = 2 * (below - kSmallest);  // of the power of two below
  return bytes <= bytes_of_class(index + 1) ? index + 1 : index + 2;
}
static_assert(class_of(1) == 0 && class_of(128) == 0 && class_of(129) == 1 && class_of(192) == 1 &&
              class_of(193) == 2 && class_of(256) == 2 && class_of(257) == 3);

// A block that nobody holds, at its start.
struct FreeBlock {
  FreeBlock* next = nullptr;
};

using FreeLists = std::array<FreeBlock*, kClasses>;

void push(FreeLists& lists, std::size_t index, void* block) {
  auto* const free = static_cast<FreeBlock*>(block);
  free->next = lists[index];
  lists[index] = free;
}

void* pop(FreeLists& lists, std::size_t index) {
  FreeBlock* const block = lists[index];
  if (block != nullptr) lists[index] = block->next;
  return block;
}

// Directly before the memory of a block that somebody holds.
struct Header {
  HeapBlocks* owner;
  void* block;  // its start
  std::size_t size_class;
};
static_assert(sizeof(Header) <= kHeaderBytes);

Header& header_of(void* memory) {
  return *reinterpret_cast<Header*>(static_cast<std::byte*>(memory) - kHeaderBytes);
}

// The range, and the blocks of heaps that are gone. Its destructor must not run: memory is given back until the
// program ends.
struct Source {
  std::mutex mutex;
  std::byte* begin = nullptr;
  std::size_t used = 0, usable = 0;  // bytes from the beginning
  bool refused = false;
  FreeLists free{};

  // Null where there is no room.
  void* take(std::size_t index) {
    const std::lock_guard lock(mutex);
    if (void* const known = pop(free, index)) return known;
    if (!set_aside()) return nullptr;
    const std::size_t bytes = bytes_of_class(index);
    if (bytes > kHeapRange - used || !make_usable(used + bytes)) return nullptr;
    std::byte* const block = begin + used;
    used += bytes;
    return block;
  }

  void take_back(std::size_t index, void* block) {
    // All whole pages but the one of the link.
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::uintptr_t first = (address + sizeof(FreeBlock) + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (address + bytes_of_class(index)) / kPage * kPage;
    if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
    const std::lock_guard lock(mutex);
    push(free, index, block);
  }

 private:
  bool set_aside() {
    if (begin != nullptr || refused) return !refused;
    void* const mapped =
        mmap(nullptr, kHeapRange, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    refused = mapped == MAP_FAILED;  // a limit on address space, say
    if (refused) return false;
    begin = static_cast<std::byte*>(mapped);
    heap_range.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_relaxed);
    return true;
  }

  bool make_usable(std::size_t bytes) {
    if (bytes <= usable) return true;
    const std::size_t end = std::min(kHeapRange, (bytes + kCommit - 1) / kCommit * kCommit);
    if (mprotect(begin + usable, end - usable, PROT_READ | PROT_WRITE) != 0) return false;
    usable = end;
    return true;
  }
};

Source& source() {
  alignas(Source) static std::byte place[sizeof(Source)];
  static Source* const made = new (place) Source;
  return *made;
}

}  // namespace

// What a heap has. Outlives it while somebody holds a block.
struct HeapBlocks {
  std::mutex mutex;
  FreeLists free{};
  std::size_t bytes = 0;
  std::size_t held = 0;  // blocks
  bool gone = false;     // the heap

  // Whether nothing refers to this any more.
  bool over() const { return gone && held == 0; }
};

void* take_block(std::size_t bytes, std::size_t alignment) noexcept {
  HeapBlocks& heap = *heap_in_use;
  const std::size_t slack = alignment > kHeaderBytes ? alignment : 0;
  if (bytes > kHeapRange / 2 || slack > kHeapRange / 4) return nullptr;
  const std::size_t index = class_of(bytes + kHeaderBytes + slack);
  void* block = nullptr;
  {
    const std::lock_guard lock(heap.mutex);
    block = pop(heap.free, index);
    if (block != nullptr) ++heap.held;
  }
  if (block == nullptr) {
    block = source().take(index);
    if (block == nullptr) return nullptr;
    const std::lock_guard lock(heap.mutex);
    heap.bytes += bytes_of_class(index);
    ++heap.held;
  }
  auto address = reinterpret_cast<std::uintptr_t>(block) + kHeaderBytes;
  if (slack > 0) address = (address + alignment - 1) / alignment * alignment;
  void* const memory = reinterpret_cast<void*>(address);
  header_of(memory) = {&heap, block, index};
  return memory;
}

void give_back_block(void* memory) noexcept {
  const Header header = header_of(memory);
  HeapBlocks& heap = *header.owner;
  bool over = false, gone = false;
  {
    const std::lock_guard lock(heap.mutex);
    --heap.held;
    gone = heap.gone;
    over = heap.over();
    if (!gone) push(heap.free, header.size_class, header.block);
  }
  if (gone) source().take_back(header.size_class, header.block);
  if (over) delete &heap;
}

}  // namespace internal

using internal::HeapBlocks;

namespace {

// Memory of the system's, whatever heap is in use: this outlives that.
HeapBlocks* make_blocks() {
  HeapBlocks* const before = std::exchange(internal::heap_in_use, nullptr);
  auto* const made = new HeapBlocks;
  internal::heap_in_use = before;
  return made;
}

}  // namespace

RecyclingHeap::RecyclingHeap() : blocks_(make_blocks()) {}

RecyclingHeap::~RecyclingHeap() {
  bool over = false;
  internal::FreeLists free{};
  {
    const std::lock_guard lock(blocks_->mutex);
    free = blocks_->free;
    blocks_->gone = true;
    over = blocks_->over();
  }
  for (std::size_t index = 0; index < free.size(); ++index) {
    while (void* const block = internal::pop(free, index)) internal::source().take_back(index, block);
  }
  if (over) delete blocks_;
}

std::size_t RecyclingHeap::bytes() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->bytes;
}

RecyclingHeap::Use::Use(RecyclingHeap& heap) : before_(internal::heap_in_use) {
  internal::heap_in_use = heap.blocks_;
}

RecyclingHeap::Use::~Use() { internal::heap_in_use = before_; }

}  // namespace hone
