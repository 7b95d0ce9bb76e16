#include "core/recycling_heap.h"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/replace_operator_new.h"
#include "core/tensor.h"

// Sanitizers bring their own operator new, and nothing is recycled.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace hone {
namespace {

// Work as kernels do it: lists that grow, tensors, one of them in huge pages. Writes all that it takes.
void work() {
  std::vector<int64_t> growing;
  for (int64_t i = 0; i < 1000; ++i) growing.push_back(i);
  for (const int64_t count : {3, 100'000, 1'000'000}) {
    const Tensor tensor = Tensor::zeros(DType::kF32, {count});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % kTensorAlignment, 0U);
    EXPECT_TRUE(internal::is_block(tensor.data()));
  }
}

TEST(RecyclingHeap, TakesNothingNewTheSecondTime) {
  RecyclingHeap heap;
  EXPECT_EQ(heap.bytes(), 0U);
  std::size_t first = 0;
  for (int run = 0; run < 5; ++run) {
    const RecyclingHeap::Use use(heap);
    work();
    if (run == 0) first = heap.bytes();
    EXPECT_EQ(heap.bytes(), first);
  }
  EXPECT_GT(first, 4'000'000U);
}

TEST(RecyclingHeap, IsOfItsThreadAndItsScope) {
  RecyclingHeap outer, inner;
  const auto outside = std::make_unique<int>(1);
  EXPECT_FALSE(internal::is_block(outside.get()));
  const RecyclingHeap::Use use(outer);
  {
    const RecyclingHeap::Use nested(inner);
    const auto mine = std::make_unique<int>(2);
    EXPECT_TRUE(internal::is_block(mine.get()));
    EXPECT_EQ(outer.bytes(), 0U);
  }
  const std::size_t before = inner.bytes();
  const auto again = std::make_unique<int>(3);
  EXPECT_EQ(inner.bytes(), before);
  EXPECT_GT(outer.bytes(), 0U);
}

TEST(RecyclingHeap, BlocksMayBeGivenBackByOtherThreadsAndAfterTheHeap) {
  std::vector<std::unique_ptr<std::vector<char>>> kept(100);
  {
    RecyclingHeap heap;
    const RecyclingHeap::Use use(heap);
    for (auto& each : kept) each = std::make_unique<std::vector<char>>(300, 'x');
    std::thread([&] { kept.resize(50); }).join();
  }
  for (const auto& each : kept) EXPECT_EQ(each->at(299), 'x');
  kept.clear();
  // What that heap had serves another.
  RecyclingHeap heap;
  const RecyclingHeap::Use use(heap);
  work();
}

TEST(RecyclingHeap, AlignsAsAskedFor) {
  RecyclingHeap heap;
  for (int run = 0; run < 2; ++run) {
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 21; alignment *= 2) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}}) {
        const auto wanted = std::align_val_t{alignment};
        void* memory = nullptr;
        {
          const RecyclingHeap::Use use(heap);
          memory = ::operator new(bytes, wanted);
        }
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0U);
        EXPECT_TRUE(internal::is_block(memory));
        std::memset(memory, run, bytes);
        ::operator delete(memory, wanted);
      }
    }
  }
}

TEST(RecyclingHeap, WhatItHasNoRoomForComesFromTheSystem) {
  RecyclingHeap heap;
  const RecyclingHeap::Use use(heap);
  EXPECT_THROW((void)::operator new (std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace hone

#endif
