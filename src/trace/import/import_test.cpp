#include "trace/import/import.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "core/testing/source_folder.h"
#include "trace/perfetto/writer.h"

namespace hone::trace {
namespace {

namespace fs = std::filesystem;

fs::path recorded_trace(const std::string& name) {
  return source_folder() / "tests/traces/recorded" / (name + ".json.gz");
}

Trace import_files(std::vector<fs::path> paths) {
  Result<Trace> trace = import_trace(paths);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return trace.ok() ? std::move(*trace) : Trace{};
}

std::map<Category, int> counts(const Trace& trace) {
  std::map<Category, int> result;
  for (const Category category : trace.spans.category) ++result[category];
  return result;
}

void expect_sound(const Trace& trace) {
  const Status valid = trace.validate();
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  EXPECT_TRUE(std::is_sorted(trace.spans.start_ns.begin(), trace.spans.start_ns.end()) ||
              trace.meta.ranks.size() > 1);
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span span = trace.spans.row(i);
    const Track& track = trace.tracks[span.track.index];
    const bool device = span.category == Category::kKernel || span.category == Category::kCommunication;
    const bool host = span.category == Category::kOperator || span.category == Category::kRuntime;
    ASSERT_FALSE(device && track.kind != TrackKind::kStream);
    ASSERT_FALSE(host && track.kind != TrackKind::kThread);
  }
}

TEST(Import, EveryRecordedTraceIsReadWithoutAWarning) {
  for (const char* folder : {"recorded", "real"})
    for (const auto& entry : fs::directory_iterator(source_folder() / "tests/traces" / folder)) {
      if (entry.path().extension() != ".gz") continue;
      SCOPED_TRACE(entry.path().string());
      const Trace trace = import_files({entry.path()});
      expect_sound(trace);
      EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
      EXPECT_GT(counts(trace)[Category::kKernel], 0);
      EXPECT_THAT(trace.meta.devices.at(0).name, testing::AnyOf("NVIDIA H200", "NVIDIA H100 80GB HBM3"));
    }
}

TEST(Import, EveryEventThatPythonCountsBecomesASpan) {
  const Trace trace = import_files({recorded_trace("allocator_emptied.fault")});
  auto count = counts(trace);
  EXPECT_EQ(count[Category::kOperator], 5289);
  EXPECT_EQ(count[Category::kKernel], 756);
  EXPECT_EQ(count[Category::kMemset], 75);
  EXPECT_EQ(count[Category::kMemcpy], 3);
  EXPECT_EQ(count[Category::kRegion], 15);
  EXPECT_EQ(count[Category::kRuntime] + count[Category::kSynchronization] + count[Category::kAllocation],
            817 + 201);
  EXPECT_GT(count[Category::kAllocation], 0);
  EXPECT_GT(count[Category::kSynchronization], 0);
  EXPECT_EQ(trace.calls.size(), 5289u);
  EXPECT_EQ(trace.launches.size(), 756u);
  EXPECT_EQ(trace.copies.size(), 78u);
}

TEST(Import, TwoRanksBecomeOneTraceWithIdsThatDoNotMeet) {
  const Trace trace =
      import_files({recorded_trace("healthy_ddp.fault.rank0"), recorded_trace("healthy_ddp.fault.rank1")});
  expect_sound(trace);
  ASSERT_EQ(trace.meta.ranks.size(), 2u);
  EXPECT_EQ(trace.meta.ranks[1].rank, 1);
  EXPECT_EQ(trace.meta.ranks[1].world_size, 2);
  EXPECT_EQ(trace.meta.ranks[1].backend, "nccl");
  EXPECT_EQ(trace.meta.ranks[1].source, "healthy_ddp.fault.rank1.json.gz");
  EXPECT_THAT(trace.meta.ranks[1].groups.at(0).ranks, testing::ElementsAre(0, 1));
  EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
  std::map<uint64_t, int> rank_of;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span span = trace.spans.row(i);
    if (span.correlation == 0) continue;
    const int rank = trace.tracks[span.track.index].rank;
    EXPECT_EQ(rank_of.try_emplace(span.correlation, rank).first->second, rank);
  }
  int described = 0;  // what was launched before the recording began carries its kernel's name only
  for (const Collective& collective : trace.collectives) {
    EXPECT_EQ(trace.strings.text(collective.name), "allreduce");
    if (collective.group_size == 0) continue;
    ++described;
    EXPECT_EQ(collective.group_size, 2u);
    EXPECT_EQ(collective.dtype, DType::kF32);
    EXPECT_GT(collective.elements_in, 0);
  }
  EXPECT_EQ(described, 42);
}

class ImportFolder : public testing::Test {
 protected:
  ImportFolder() : folder_(scratch_path("import_folder")) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ImportFolder() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static std::string error_of(std::vector<fs::path> paths) {
    Result<Trace> trace = import_trace(paths);
    EXPECT_FALSE(trace.ok());
    return trace.ok() ? "" : trace.error().message;
  }
  static std::string small_trace(int rank, int64_t base) {
    return R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
           R"(, "world_size": 12}, "baseTimeNanoseconds": )" + std::to_string(base) +
           R"(, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"Sequence number": 3, "External id": 4}}]})";
  }

  fs::path folder_;
};

TEST_F(ImportFolder, FilesOfAFolderAreRanksOthersArePassedOver) {
  for (const int rank : {10, 2, 0})
    write("trace_rank" + std::to_string(rank) + ".json", small_trace(rank, 1000 * rank));
  write("README.md", "# traces\n");
  write("settings.json", "{\"batch\": 8}");
  const Trace trace = import_files({folder_});
  ASSERT_EQ(trace.meta.ranks.size(), 3u);
  EXPECT_EQ(trace.meta.ranks[0].rank, 0);
  EXPECT_EQ(trace.meta.ranks[1].rank, 2);
  EXPECT_EQ(trace.meta.ranks[2].rank, 10);
  EXPECT_THAT(trace.spans.start_ns, testing::ElementsAre(0, 2000, 10000));
  EXPECT_NE(trace.calls[0].sequence, trace.calls[1].sequence);
  EXPECT_NE(trace.calls[0].external, trace.calls[1].external);
  EXPECT_THAT(trace.meta.warnings, testing::IsEmpty());
}

TEST_F(ImportFolder, FilesWithoutRanksAreNumberedInTheOrderGiven) {
  const auto silent = [&](const char* name, int ts) {
    return write(name,
                 R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": )" +
                     std::to_string(ts) + R"(, "dur": 5}]})");
  };
  const Trace trace = import_files({silent("a.json", 10), silent("b.json", 12)});
  EXPECT_EQ(trace.meta.ranks.at(1).rank, 1);
  EXPECT_THAT(trace.meta.warnings, testing::ElementsAre(testing::HasSubstr("numbered in the order given")));
}

TEST_F(ImportFolder, OneFileIsNotTwoRanks) {
  const fs::path file = write("a.json", small_trace(0, 0));
  EXPECT_THAT(error_of({file, file}), testing::HasSubstr("a.json is given twice"));
  const fs::path copy = folder_ / "b.json.gz", real = recorded_trace("host_python_metrics.fault");
  fs::copy_file(real, copy);
  EXPECT_THAT(error_of({real, copy}), testing::HasSubstr("and 'b.json.gz' hold the same recording"));
  EXPECT_THAT(error_of({folder_, file}), testing::HasSubstr("a.json is given twice"));
}

TEST_F(ImportFolder, PackedFilesOfEveryFormatAreRead) {
  const Trace trace = import_files({recorded_trace("copy_pageable.fault")});
  const fs::path path = folder_ / "trace.pftrace";
  ASSERT_TRUE(write_perfetto(trace, path).ok());
  const fs::path packed = folder_ / "packed";
  const gzFile file = gzopen(packed.c_str(), "wb");
  const std::string bytes = *read_file(path);
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(import_files({packed}).spans.start_ns, trace.spans.start_ns);
}

TEST_F(ImportFolder, EndsWhereTheCallerStopsIt) {
  ImportOptions options;
  options.progress = [](std::string_view, double) { return false; };
  const std::vector<fs::path> paths = {recorded_trace("copy_pageable.fault")};
  const Result<Trace> trace = import_trace(paths, options);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().code, ErrorCode::kCancelled);
}

TEST_F(ImportFolder, ClocksFarApartAreDoubted) {
  const Trace trace =
      import_files({write("a.json", small_trace(0, 0)), write("b.json", small_trace(1, int64_t{1} << 60))});
  EXPECT_THAT(trace.spans.start_ns, testing::ElementsAre(0, 0));
  EXPECT_THAT(trace.meta.warnings, testing::ElementsAre(testing::HasSubstr("clocks")));
}

TEST_F(ImportFolder, SeveralProgramsAreNotTakenForRanks) {
  EXPECT_THAT(error_of({write("a.json", small_trace(0, 0)), write("b.json", small_trace(0, 1))}),
              testing::AllOf(testing::HasSubstr("'a.json' and 'b.json' both say that they are rank 0"),
                             testing::HasSubstr("hone compare")));
  EXPECT_THAT(error_of({recorded_trace("layout_permutes.fault"), recorded_trace("layout_permutes.repaired")}),
              testing::HasSubstr("look like several programs"));
}

// Two runs of one program look alike in everything but time and what all ranks agree on.
TEST_F(ImportFolder, RanksOfTwoRunsAreRefusedWhereThatIsCertain) {
  constexpr int64_t kNow = 1'790'857'026'000'000'000;
  const auto rank = [&](const std::string& name, int number, int64_t base, const std::string& world) {
    std::string text = small_trace(number, base);
    text.replace(text.find("\"world_size\": 12"), 16, world);
    return write(name, text);
  };
  const fs::path first = rank("a.json", 0, kNow, "\"world_size\": 2");
  EXPECT_THAT(error_of({first, rank("b.json", 1, kNow + 2'000'000'000, "\"world_size\": 2")}),
              testing::AllOf(testing::HasSubstr("'b.json' was recorded when"),
                             testing::HasSubstr("look like several programs")));
  EXPECT_THAT(error_of({first, rank("b.json", 1, kNow, "\"world_size\": 4")}),
              testing::HasSubstr("one is of 2 ranks, the other of 4"));
  EXPECT_THAT(error_of({rank("c.json", 0, kNow, R"("world_size": 2, "backend": "nccl")"),
                        rank("b.json", 1, kNow, R"("world_size": 2, "backend": "gloo")")}),
              testing::HasSubstr("'nccl', the other by 'gloo'"));
  const auto group = [](const char* ranks) {
    return R"("world_size": 2, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": )" +
           std::string(ranks) + "}]";
  };
  EXPECT_THAT(error_of({rank("c.json", 0, kNow, group("[0, 1]")), rank("b.json", 1, kNow, group("[1, 2]"))}),
              testing::HasSubstr("groups of all ranks"));
  // Clocks of machines that work together are a little apart.
  EXPECT_EQ(
      import_files({first, rank("b.json", 1, kNow + 500'000'000, "\"world_size\": 2")}).meta.ranks.size(),
      2u);
}

std::string unpacked(const fs::path& path) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  const gzFile file = gzopen(path.c_str(), "rb");
  for (int count; (count = gzread(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  gzclose(file);
  return text;
}

// A machine whose clock nobody sets: its collectives say that it was there.
TEST_F(ImportFolder, RanksThatMeetAreOfOneRunWhateverTheirClocksSay) {
  const auto with_clock = [&](const std::string& name, int64_t seconds_ahead) {
    std::string text = unpacked(recorded_trace(name));
    const std::string key = "\"baseTimeNanoseconds\": ";
    const std::size_t at = text.find(key) + key.size();
    const std::size_t end = text.find_first_not_of("0123456789", at);
    const int64_t base = std::stoll(text.substr(at, end - at)) + seconds_ahead * 1'000'000'000;
    return write(name + ".json", text.replace(at, end - at, std::to_string(base)));
  };
  for (const int64_t seconds : {5, -3600}) {
    const Trace trace = import_files(
        {recorded_trace("healthy_ddp.fault.rank0"), with_clock("healthy_ddp.fault.rank1", seconds)});
    EXPECT_EQ(trace.meta.ranks.size(), 2u) << seconds;
  }
  EXPECT_THAT(error_of({recorded_trace("healthy_accumulates.fault.rank0"),
                        with_clock("healthy_accumulates.repaired.rank1", 5)}),
              testing::HasSubstr("look like several programs"));
}

TEST_F(ImportFolder, AFileThatSaysNoRankBesideOnesThatDoIsDoubted) {
  const Trace trace = import_files(
      {write("a.json", small_trace(0, 0)),
       write("b.json", R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1,
                          "ts": 10, "dur": 5}]})")});
  EXPECT_THAT(trace.meta.warnings,
              testing::Contains(testing::HasSubstr("b.json does not say that it is a rank")));
}

TEST_F(ImportFolder, WhatIsMissingInAFileIsCounted) {
  const Trace whole = import_files({write("a.json", small_trace(0, 0))});
  EXPECT_FALSE(whole.meta.cut_off);
  EXPECT_EQ(whole.meta.lost, 0u);
  std::string text = small_trace(0, 0);
  text = text.substr(0, text.size() - 2) + R"(, {"ph": "X", "cat": "cpu_op", "name": "b", "ts": 3)";
  const Trace torn = import_files({write("b.json", text)});
  EXPECT_TRUE(torn.meta.cut_off);
  EXPECT_EQ(torn.meta.lost, 1u);
}

TEST_F(ImportFolder, WhatHoneWroteOfSeveralRanksComesBackAsItWas) {
  const Trace trace =
      import_files({recorded_trace("healthy_ddp.fault.rank0"), recorded_trace("healthy_ddp.fault.rank1")});
  const fs::path path = folder_ / "trace.pftrace";
  ASSERT_TRUE(write_perfetto(trace, path).ok());
  const Trace again = import_files({path});
  EXPECT_EQ(again.meta.ranks, trace.meta.ranks);
  EXPECT_EQ(again.meta.devices, trace.meta.devices);
  EXPECT_EQ(again.tracks, trace.tracks);
  EXPECT_EQ(again.spans.size(), trace.spans.size());
  EXPECT_EQ(again.calls.size(), trace.calls.size());
  EXPECT_EQ(again.collectives.size(), trace.collectives.size());
}

TEST_F(ImportFolder, WrongFilesAreNamedWithWhatTheyLookLike) {
  EXPECT_THAT(error_of({write("a.json", "hello")}),
              testing::AllOf(testing::HasSubstr("a.json: this is a text"), testing::HasSubstr("hone reads")));
  EXPECT_THAT(error_of({write("a.json.gz", "")}), testing::HasSubstr("an empty file"));
  EXPECT_THAT(error_of({write("b.json", "{\"a\": 1}")}),
              testing::HasSubstr("b.json: JSON without a list of events"));
  EXPECT_THAT(error_of({write("r.nsys-rep", "\x01\x02 data")}),
              testing::HasSubstr("nsys export --type sqlite"));
  EXPECT_THAT(error_of({folder_ / "gone.json"}), testing::HasSubstr("gone.json"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(error_of({folder_ / "empty"}), testing::HasSubstr("no trace here: the folder is empty"));
}

TEST_F(ImportFolder, AFolderWithoutATraceSaysWhy) {
  fs::create_directories(folder_ / "outer" / "inner");
  EXPECT_THAT(error_of({folder_ / "outer"}), testing::HasSubstr("folders in it are not searched"));
  write("outer/notes.txt", "hello");
  EXPECT_THAT(error_of({folder_ / "outer"}),
              testing::AllOf(testing::HasSubstr("outer: no trace here"),
                             testing::HasSubstr("'notes.txt', for one: this is a text"),
                             testing::HasSubstr("hone reads")));
  // Beside a trace, too: it was given for something.
  EXPECT_THAT(error_of({recorded_trace("copy_pageable.fault"), folder_ / "outer"}),
              testing::HasSubstr("outer: no trace here"));
}

TEST_F(ImportFolder, WhatHoneWroteIsNotJoinedWithOtherFiles) {
  const Trace trace = import_files({recorded_trace("copy_pageable.fault")});
  const fs::path written = folder_ / "trace.pftrace";
  ASSERT_TRUE(write_perfetto(trace, written).ok());
  EXPECT_EQ(import_files({written}).spans.size(), trace.spans.size());
  EXPECT_THAT(error_of({recorded_trace("copy_pageable.fault"), written}),
              testing::AllOf(testing::HasSubstr("'trace.pftrace' is a whole run that hone wrote"),
                             testing::HasSubstr("as they were made")));
  // A report beside the ranks that it was made of does not count.
  fs::create_directories(folder_ / "ranks" / "out");
  fs::copy_file(recorded_trace("copy_pageable.fault"), folder_ / "ranks" / "rank0.json.gz");
  fs::copy_file(written, folder_ / "ranks" / "out" / "trace.pftrace");
  std::ofstream(folder_ / "ranks" / "out" / "run.json") << "{}";
  EXPECT_EQ(import_files({folder_ / "ranks"}).meta.ranks.size(), 1u);
}

TEST_F(ImportFolder, ARankThatWasNotWrittenIsSaidToBeLeftOut) {
  fs::create_directories(folder_ / "ranks");
  fs::copy_file(recorded_trace("copy_pageable.fault"), folder_ / "ranks" / "rank0.json.gz");
  write("ranks/notes.txt", "not named like a trace");
  EXPECT_THAT(import_files({folder_ / "ranks"}).meta.warnings, testing::IsEmpty());
  write("ranks/rank1.json.gz", "");
  write("ranks/rank2.json", std::string(5000, '\0'));
  EXPECT_THAT(
      import_files({folder_ / "ranks"}).meta.warnings,
      testing::ElementsAre(testing::AllOf(testing::HasSubstr("left out 'rank1.json.gz': this is an empty"),
                                          testing::HasSubstr("and 1 more"))));
}

TEST_F(ImportFolder, JsonWithoutEventsSaysHowToRecordSome) {
  for (const char* text : {"{\"traceEvents\": []}", "[]"})
    EXPECT_THAT(
        error_of({write("none.json", text)}),
        testing::AllOf(testing::HasSubstr("none.json: no event"), testing::HasSubstr("ProfilerActivity.CUDA"),
                       testing::HasSubstr("profiler.step()")));
  EXPECT_THAT(error_of({write("cut.json", "{\"traceEvents\": [{\"ph\":")}),
              testing::HasSubstr("get the whole file"));
  EXPECT_THAT(error_of({write("other.json", "{\"name\": 3}")}), testing::HasSubstr("export_chrome_trace"));
}

TEST_F(ImportFolder, FourGigabytesOfZerosAreRefusedAtOnce) {
  const fs::path path = write("zeros.json", "");
  fs::resize_file(path, std::uintmax_t{4} << 30);  // a hole
  EXPECT_THAT(error_of({path}), testing::HasSubstr("zeros"));
}

// LOGDIR/plugins/profile/RUN/HOST.xplane.pb, the newest run; what pages show of the same is left out.
TEST(Import, ALogFolderOfTensorBoardIsItsNewestRun) {
  const fs::path xla = source_folder() / "tests/traces/xla", logdir = scratch_path("logdir");
  const auto lay = [&](const char* run, const char* name, const fs::path& as) {
    const fs::path folder = logdir / "plugins" / "profile" / run;
    fs::create_directories(folder);
    fs::copy_file(xla / name, folder / as);
  };
  lay("2026_11_23_09_00_00", "tf_eager.xplane.pb.gz", "vm.xplane.pb.gz");
  lay("2026_11_23_10_00_00", "jax_mlp.xplane.pb.gz", "vm.xplane.pb.gz");
  lay("2026_11_23_10_00_00", "jax_mlp.trace.json.gz", "vm.trace.json.gz");
  for (const fs::path& given : {logdir, logdir / "plugins" / "profile" / "2026_11_23_10_00_00"}) {
    const Trace trace = import_files({given});
    expect_sound(trace);
    EXPECT_EQ(trace.meta.framework, Framework::kJax);
    ASSERT_EQ(trace.meta.ranks.size(), 1u);
    EXPECT_EQ(trace.meta.ranks[0].source, "vm.xplane.pb.gz");
  }
  fs::create_directories(logdir / "train");
  fs::rename(logdir / "plugins", logdir / "train" / "plugins");
  EXPECT_EQ(import_files({logdir}).meta.framework, Framework::kJax);
  fs::remove_all(logdir);
}

}  // namespace
}  // namespace hone::trace
