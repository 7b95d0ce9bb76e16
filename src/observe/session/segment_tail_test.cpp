#include "observe/session/segment_tail.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/testing/scratch_path.h"
#include "trace/testing/segment_writer.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
using trace::segments::Kind;
using trace::segments::Mark;
using trace::segments::MarkKind;
using trace::segments::SegmentWriter;

class GrowingSegment : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  void write(const std::string& bytes) const {
    std::ofstream(folder / "100-1.seg", std::ios::binary)
        .write(bytes.data(), static_cast<long>(bytes.size()));
  }
  // Times of the marks that are new.
  std::vector<int64_t> new_marks() {
    std::vector<int64_t> times;
    tail.read([&](const SegmentRecord& record) {
      if (record.at.kind() == Kind::kMark) times.push_back(record.at.as<Mark>()->time_ns);
    });
    return times;
  }

  fs::path folder = scratch_path("tail");
  SegmentTail tail{folder};
};

TEST_F(GrowingSegment, HandsOverEachRecordOnceWhenItIsWhole) {
  SegmentWriter writer(100);
  EXPECT_TRUE(new_marks().empty());  // not there yet
  writer.mark(MarkKind::kOptimizer, "SGD", 10);
  const std::string first = writer.bytes();
  write(first);
  EXPECT_EQ(new_marks(), std::vector<int64_t>{10});
  EXPECT_TRUE(new_marks().empty());
  writer.mark(MarkKind::kOptimizer, "SGD", 20).mark(MarkKind::kOptimizer, "SGD", 30);
  const std::string all = writer.bytes();
  for (std::size_t end = first.size(); end + sizeof(Mark) < all.size(); ++end) {
    write(all.substr(0, end));
    EXPECT_TRUE(new_marks().empty()) << end;
  }
  write(all);
  EXPECT_EQ(new_marks(), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(tail.name(100, writer.name("SGD")), "SGD");
}

TEST_F(GrowingSegment, WaitsAtZerosThatAreStillToBeWritten) {
  SegmentWriter writer(100);
  writer.mark(MarkKind::kOptimizer, "SGD", 10);
  const std::string first = writer.bytes();
  write(first + std::string(4096, '\0'));
  EXPECT_EQ(new_marks().size(), 1u);
  writer.mark(MarkKind::kOptimizer, "SGD", 20);
  write(writer.bytes() + std::string(4096, '\0'));
  EXPECT_EQ(new_marks(), std::vector<int64_t>{20});
}

TEST_F(GrowingSegment, PassesOverWhatIsNoSegment) {
  write("no segment at all, but longer than the header of one would have to be to be read");
  EXPECT_TRUE(new_marks().empty());
  SegmentWriter writer(100);
  writer.mark(MarkKind::kOptimizer, "SGD", 10).raw(std::string(60, '\x07'));
  std::ofstream(folder / "101-1.seg", std::ios::binary) << writer.bytes();
  EXPECT_EQ(new_marks().size(), 1u);
}

TEST_F(GrowingSegment, ReadsRecordsLargerThanItsBuffer) {
  SegmentWriter writer(100);
  trace::segments::Counters counters;
  const std::string values(3U << 20, 'x');
  writer.mark(MarkKind::kData, "loader", 10).add(counters, values).mark(MarkKind::kData, "loader", 20);
  write(writer.bytes());
  EXPECT_EQ(new_marks(), (std::vector<int64_t>{10, 20}));
}

// Nobody would write into the one, and the other does not fit into memory.
TEST_F(GrowingSegment, PassesOverPipesAndReadsHugeFilesInPieces) {
  ASSERT_EQ(::mkfifo((folder / "1-1.seg").c_str(), 0600), 0);
  SegmentWriter writer(100);
  writer.mark(MarkKind::kOptimizer, "SGD", 10);
  write(writer.bytes());
  fs::resize_file(folder / "100-1.seg", uint64_t{20} << 30);
  EXPECT_EQ(new_marks(), std::vector<int64_t>{10});
}

}  // namespace
}  // namespace hone::observe
