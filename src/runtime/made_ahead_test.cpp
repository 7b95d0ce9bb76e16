#include "runtime/made_ahead.h"

#include <atomic>

#include <gtest/gtest.h>

namespace hone::runtime {
namespace {

class Nothing : public Kernel {
 public:
  std::string implementation() const override { return "nothing"; }
  Status enqueue(const KernelArguments&, Queue&) override { return {}; }
};

// A candidate that counts how often it is made.
MadeAhead::Wanted counting(const graph::Node& node, const char* name, std::atomic<int>& made) {
  return {&node, {name, [&made]() -> Result<std::unique_ptr<Kernel>> {
                    ++made;
                    return std::unique_ptr<Kernel>(std::make_unique<Nothing>());
                  }}};
}

TEST(MadeAhead, GivesEachKernelOnceToTheNodeThatItIsOf) {
  const graph::Node one, other;
  std::atomic<int> made = 0;
  MadeAhead ahead;
  std::size_t told = 0;
  ASSERT_TRUE(ahead.make({counting(one, "a", made), counting(one, "b", made), counting(other, "a", made)},
                         [&](std::size_t, std::size_t of) { return told = of, true; }));
  EXPECT_EQ(made, 3);
  EXPECT_EQ(told, 3U);
  EXPECT_NE(ahead.take(one, "a"), nullptr);
  EXPECT_EQ(ahead.take(one, "a"), nullptr);
  EXPECT_NE(ahead.take(other, "a"), nullptr);
  EXPECT_EQ(ahead.take(other, "b"), nullptr);
}

TEST(MadeAhead, LeavesOutWhatCannotBeMade) {
  const graph::Node node;
  MadeAhead ahead;
  ASSERT_TRUE(ahead.make(
      {{&node, {"never", []() -> Result<std::unique_ptr<Kernel>> { return unsupported("not here"); }}}}));
  EXPECT_EQ(ahead.take(node, "never"), nullptr);
}

TEST(MadeAhead, EndsWhenToldTo) {
  const graph::Node node;
  std::atomic<int> made = 0;
  std::vector<MadeAhead::Wanted> wanted;
  for (int i = 0; i < 1000; ++i) wanted.push_back(counting(node, "same", made));
  MadeAhead ahead;
  EXPECT_FALSE(ahead.make(wanted, [](std::size_t, std::size_t) { return false; }));
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace hone::runtime
