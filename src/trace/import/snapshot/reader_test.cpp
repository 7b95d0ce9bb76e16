// Snapshots of PyTorch's allocator: what they become, and that a pickle runs nothing.
#include "trace/import/snapshot/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/allocator_history.h"
#include "trace/import/snapshot/pickle.h"
#include "trace/import/sniff.h"
#include "trace/link/link.h"
#include "trace/testing/pickle_writer.h"

namespace hone::trace::snapshot {
namespace {

using testing::HasSubstr;

std::string small_snapshot() {
  return pickles::snapshot(
      {pickles::segment(
          0x7f0000000000, 4096,
          {{0x7f0000000000, 1024, true, pickles::frames("step", 31)}, {0x7f0000000400, 3072, false}})},
      {pickles::event({"segment_alloc", 0x7f0000000000, 4096, 1'000'000}),
       pickles::event({"alloc", 0x7f0000000000, 1024, 1'000'010, pickles::frames("step", 31)}),
       pickles::event({"alloc", 0x7f0000000400, 2048, 1'000'020, pickles::frames("loss", 40)}),
       pickles::event({"free_requested", 0x7f0000000400, 2048, 1'000'030}),
       pickles::event({"free_completed", 0x7f0000000400, 2048, 1'000'031}),
       pickles::event({"snapshot", 0, 0, 1'000'040})});
}

TEST(SnapshotReader, HasWhatTheAllocatorHoldsAndEveryTakeAndGive) {
  const std::string bytes = small_snapshot();
  const Result<ImportedFile> file = read_snapshot(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_NE(file->trace.memory, nullptr);
  const AllocatorHistory& history = *file->trace.memory;
  ASSERT_EQ(history.segments.size(), 1u);
  EXPECT_EQ(history.segments[0].bytes, 4096);
  ASSERT_EQ(history.blocks.size(), 2u);
  EXPECT_TRUE(history.blocks[0].in_use);
  EXPECT_FALSE(history.blocks[1].in_use);
  ASSERT_EQ(history.events.size(), 4u);  // that memory is free is told once
  EXPECT_EQ(history.events[0].action, MemoryAction::kReserve);
  EXPECT_EQ(history.events[1].time_ns, 10'000);
  EXPECT_EQ(history.events[3].action, MemoryAction::kGive);
  EXPECT_TRUE(file->trace.validate().ok());
}

TEST(SnapshotReader, NamesTheProgramsOwnLineAndTheInnermostFunction) {
  const std::string bytes = small_snapshot();
  const Result<ImportedFile> file = read_snapshot(bytes);
  ASSERT_TRUE(file.ok());
  const AllocatorHistory& history = *file->trace.memory;
  const MemoryHolder& holder = history.holders.at(history.events[1].holder);
  EXPECT_EQ(holder.line, "train.py:31 step");
  EXPECT_EQ(holder.inside, "functional.py:2901 layer_norm");
  EXPECT_EQ(history.blocks[0].holder, history.events[1].holder);
  EXPECT_EQ(history.events[3].holder, 0u);
}

TEST(SnapshotReader, NamesTheOperatorThatTheProgramCalls) {
  const auto native = [](std::string_view function) {
    return pickles::dict({{"filename", pickles::text("??")},
                          {"line", pickles::integer(0)},
                          {"name", pickles::text(function)}});
  };
  const std::string stack =
      pickles::list({native("at::_ops::empty_strided::call(int)"), native("at::_ops::gelu::call(at::Tensor)"),
                     pickles::dict({{"filename", pickles::text("/home/u/train.py")},
                                    {"line", pickles::integer(12)},
                                    {"name", pickles::text("forward")}})});
  const std::string bytes = pickles::snapshot({}, {pickles::event({"alloc", 4096, 512, 10, stack})});
  const Result<ImportedFile> file = read_snapshot(bytes);
  ASSERT_TRUE(file.ok());
  const AllocatorHistory& history = *file->trace.memory;
  EXPECT_EQ(history.holders.at(history.events.at(0).holder).line, "train.py:12 forward");
  EXPECT_EQ(history.holders.at(history.events.at(0).holder).inside, "aten::gelu");
}

// The backward pass runs on a thread of C++.
TEST(SnapshotReader, NamesTheNodeOfABackwardPass) {
  const std::string stack = pickles::list(
      {pickles::dict({{"filename", pickles::text("??")},
                      {"line", pickles::integer(0)},
                      {"name", pickles::text("at::_ops::mul_Tensor::call(at::Tensor)")}}),
       pickles::dict(
           {{"filename", pickles::text("??")},
            {"line", pickles::integer(0)},
            {"name", pickles::text("torch::autograd::generated::MulBackward0::apply(std::vector&&)")}})});
  const std::string bytes = pickles::snapshot({}, {pickles::event({"alloc", 4096, 512, 10, stack})});
  const Result<ImportedFile> file = read_snapshot(bytes);
  ASSERT_TRUE(file.ok());
  const AllocatorHistory& history = *file->trace.memory;
  EXPECT_EQ(history.holders.at(history.events.at(0).holder).inside, "MulBackward0");
}

TEST(SnapshotReader, IsKnownByItsContent) {
  EXPECT_EQ(sniff(small_snapshot()).format, TraceFormat::kSnapshot);
  EXPECT_EQ(sniff(pickles::pickle(pickles::dict({{"model", pickles::integer(1)}}))).format,
            TraceFormat::kUnknown);
}

// "cos\nsystem\n(S'true'\ntR." and what newer protocols make of it.
TEST(PickleReader, RefusesWhateverNamesAFunctionOrAClass) {
  using namespace std::string_literals;
  for (const std::string& program :
       {"\x80\x02"s + "cos\nsystem\n(X\x04\0\0\0truetR."s,
        "\x80\x04"s + pickles::text("os") + pickles::text("system") + "\x93."s, "\x80\x04)\x81."s,
        "\x80\x04Nb."s, "\x80\x04Q."s, "\x80\x04\x82\x01."s, "\x80\x05\x97."s}) {
    const Result<Pickle> pickle = Pickle::read(program);
    ASSERT_FALSE(pickle.ok());
    EXPECT_THAT(pickle.error().message, HasSubstr("more than plain data"));
  }
}

TEST(PickleReader, KnowsTheNumbersAndTextsOfEveryProtocol) {
  using namespace std::string_literals;
  const std::string bytes =
      "\x80\x04\x95\x10\0\0\0\0\0\0\0}(\x8c\x01"
      "aK\x07\x94\x8c\x01"
      "bJ\xfe\xff\xff\xff\x8c\x01"
      "cM\x01\x02\x8c\x01"
      "dh\0"s +
      "\x8c\x01"
      "e\x8a\x09\0\0\0\0\0\0\0\x80\0\x8c\x01"
      "f\x88\x8c\x01"
      "gG\x3f\xf8\0\0\0\0\0\0u."s;
  const Result<Pickle> read = Pickle::read(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->integer(read->root(), "a"), 7);
  EXPECT_EQ(read->integer(read->root(), "b"), -2);
  EXPECT_EQ(read->integer(read->root(), "c"), 0x201);
  EXPECT_EQ(read->integer(read->root(), "d"), 7);
  EXPECT_EQ(static_cast<uint64_t>(read->integer(read->root(), "e")), uint64_t{1} << 63);
  EXPECT_EQ(read->find(read->root(), "f").kind, PickleKind::kBool);
  EXPECT_EQ(read->find(read->root(), "g").kind, PickleKind::kReal);
  EXPECT_EQ(read->integer(read->root(), "none", 5), 5);
}

TEST(SnapshotReader, SaysWhatOtherPicklesAre) {
  const Result<ImportedFile> other = read_snapshot(pickles::pickle(pickles::list({})));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("_dump_snapshot"));
  EXPECT_FALSE(read_snapshot(pickles::snapshot({}, {})).ok());
}

// A list may be named many times in a pickle: rows are no more than the file can honestly have.
TEST(SnapshotReader, IsNotBlownUpByWhatIsNamedOften) {
  using namespace std::string_literals;
  std::string blocks = "](";
  for (int i = 0; i < 200; ++i) blocks += pickles::dict({{"size", pickles::integer(1)}});
  std::string segments =
      "](" + pickles::dict({{"total_size", pickles::integer(1)}, {"blocks", blocks + "e"}}) + "\x94"s;
  for (int i = 0; i < 5000; ++i) segments += "h\0"s;
  const std::string bytes = "\x80\x04}(" + pickles::text("segments") + segments + "eu.";
  const Result<ImportedFile> file = read_snapshot(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_LE(file->trace.memory->blocks.size(), bytes.size());
}

TEST(SnapshotReader, CutOrChangedAnywhereItIsReadOrRefused) {
  const std::string bytes = small_snapshot();
  const auto try_to_read = [](std::string_view text) {
    Result<ImportedFile> file = read_snapshot(text);
    if (!file.ok()) {
      EXPECT_FALSE(file.error().message.empty());
      return;
    }
    ASSERT_TRUE(file->trace.validate().ok());
    ASSERT_TRUE(link_trace(file->trace).ok());
  };
  for (std::size_t cut = 0; cut < bytes.size(); cut += 3) try_to_read(std::string_view(bytes).substr(0, cut));
  std::string changed = bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\x7f'}) {
      changed[at] = static_cast<char>(bytes[at] ^ flip);
      try_to_read(changed);
      changed[at] = bytes[at];
    }
}

}  // namespace
}  // namespace hone::trace::snapshot
