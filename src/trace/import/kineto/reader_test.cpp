#include "trace/import/kineto/reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/allocator_history.h"

namespace hone::trace::kineto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<ImportedFile> read_text(std::string_view text, std::size_t chunk_bytes = kChunkBytes,
                               int threads = 1) {
  const auto source = bytes_in_memory(text);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.threads = threads;
  return read_kineto(*source, options);
}

Trace trace_of(std::string_view text) {
  Result<ImportedFile> file = read_text(text);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  if (!file.ok()) return {};
  const Status valid = file->trace.validate();
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().message);
  return std::move(file->trace);
}

// A file as PyTorch writes it, with these events between two good ones.
std::string with_events(std::string_view events) {
  return fmt::format(R"({{"schemaVersion": 1, "baseTimeNanoseconds": 1000, "traceEvents": [
  {{"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 10.000, "dur": 5.000, "args": {{"External id": 1}}}},
  {},
  {{"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 90.000, "dur": 5.000, "args": {{"External id": 2}}}}
], "traceName": "x"}})",
                     events);
}

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) result.emplace_back(trace.name(trace.spans.row(i)));
  return result;
}

std::string op(std::string_view name, std::string_view more = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": 50.000, "dur": 2.500{}}})",
      name, more);
}

TEST(Kineto, AnEmptyValueIsMendedAndCounted) {
  const Trace trace = trace_of(with_events(
      R"({"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 7, "ts": 50.5, "dur": 2.5, "args":
      {"device": 0, "stream": 7, "correlation": 5, "Process Group Name": "0", "Process Group Description": , "Process Group Ranks": [0, 1], "Collective name": "allreduce"}})"));
  EXPECT_THAT(names(trace), ElementsAre("first", "nccl", "last"));
  ASSERT_EQ(trace.collectives.size(), 1u);
  EXPECT_EQ(trace.strings.text(trace.collectives[0].name), "allreduce");
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("1 event broke JSON's rules and could be mended")));
}

TEST(Kineto, RawControlCharactersAreKeptInNames) {
  const Trace trace = trace_of(with_events(op("a\tb\nc\x01")));
  EXPECT_THAT(names(trace), ElementsAre("first", "a\tb\nc\x01", "last"));
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("mended")));
}

TEST(Kineto, QuotesWithoutEscapesAreKeptInNames) {
  for (const char* name : {R"(f("x"))", R"(say "hi")", R"(a"b)", R"(operator"" _s)", R"("quoted")"}) {
    SCOPED_TRACE(name);
    const Trace trace = trace_of(with_events(op(name)));
    EXPECT_THAT(names(trace), ElementsAre("first", name, "last"));
    EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("mended")));
  }
}

TEST(Kineto, BytesThatAreNoUtf8AreReplaced) {
  const Trace trace = trace_of(with_events(op("k\xff\xc3(")));
  EXPECT_THAT(names(trace), ElementsAre("first", "k\xef\xbf\xbd\xef\xbf\xbd(", "last"));
}

TEST(Kineto, WrongEscapesAndMissingCommasAreMended) {
  EXPECT_THAT(names(trace_of(with_events(op(R"(C:\new\quick)")))),
              ElementsAre("first", "C:\new\\quick", "last"));
  EXPECT_THAT(names(trace_of(with_events(op("a") + op("b")))), ElementsAre("first", "a", "b", "last"));
  EXPECT_THAT(names(trace_of(with_events(op("a", ",")))), ElementsAre("first", "a", "last"));
}

TEST(Kineto, WhatIsBeyondMendingIsCountedAndTheRestRead) {
  const Trace trace =
      trace_of(with_events(R"({"ph": "X", "cat": "cpu_op", "name" )" + std::string(",") + op("after")));
  EXPECT_THAT(names(trace), ElementsAre("first", "after", "last"));
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("1 event")));
}

TEST(Kineto, NulBytesBetweenEventsDoNotEndTheReading) {
  const Trace trace = trace_of(with_events(op("a") + "," + std::string(100, '\0') + op("b")));
  EXPECT_THAT(names(trace), ElementsAre("first", "a", "b", "last"));
}

TEST(Kineto, EscapesMeanWhatJsonSays) {
  EXPECT_THAT(names(trace_of(with_events(op(R"(a\"b\\c\u00e9\ud83d\ude00\/)")))),
              ElementsAre("first", "a\"b\\cé😀/", "last"));
}

TEST(Kineto, TimesThatAreNoNumbersLeaveTheEventOut) {
  const std::vector<std::string> none = {"NaN", "Infinity", "-inf", "\"soon\"", "null", "{}"};
  const std::vector<std::string> no_clocks = {"1e300", "123456789012345678901234567890",
                                              "4361528959829646000"};  // in ns
  std::vector<std::string> times = none;
  times.insert(times.end(), no_clocks.begin(), no_clocks.end());
  for (const std::string& time : times) {
    SCOPED_TRACE(time);
    const Trace trace = trace_of(with_events(fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": {}, "dur": 1}})", time)));
    EXPECT_THAT(names(trace), ElementsAre("first", "last"));
    const bool is_number = std::count(no_clocks.begin(), no_clocks.end(), time) > 0;
    EXPECT_THAT(trace.meta.warnings,
                testing::Contains(
                    HasSubstr(is_number ? "are times in ns? the format has µs" : "no number as start time")));
    EXPECT_EQ(trace.meta.lost, 1u);
  }
}

// A tool that joins files may write what both have twice; a stream runs one thing at a time.
TEST(Kineto, WorkOfTheDeviceThatIsWrittenTwiceCountsOnce) {
  const auto kernel = [](const char* name, int stream, int correlation) {
    return fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": {}, "ts": 20, "dur": 3, )"
        R"("args": {{"device": 0, "stream": {}, "correlation": {}}}}})",
        name, stream, stream, correlation);
  };
  const std::string one = kernel("k", 7, 1);
  const Trace twice = trace_of(with_events(one + "," + kernel("other", 7, 2) + "," + one));
  EXPECT_THAT(names(twice), ElementsAre("first", "k", "other", "last"));
  EXPECT_THAT(twice.meta.warnings, ElementsAre(HasSubstr("1 record of the device left out: the same work")));
  const Trace others = trace_of(with_events(one + "," + kernel("k", 8, 1) + "," + kernel("k", 7, 3)));
  EXPECT_EQ(names(others).size(), 5u);
  EXPECT_THAT(others.meta.warnings, testing::IsEmpty());
}

TEST(Kineto, DurationsThatCannotBeAreTakenAsZero) {
  for (const char* duration : {"-5", "NaN", "null", "\"long\""}) {
    SCOPED_TRACE(duration);
    const Trace trace = trace_of(with_events(
        fmt::format(R"({{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 50, "dur": {}}})",
                    duration)));
    ASSERT_THAT(names(trace), ElementsAre("first", "a", "last"));
    EXPECT_EQ(trace.spans.duration_ns[1], 0);
    EXPECT_THAT(trace.meta.warnings, testing::Contains(HasSubstr("taken as 0")));
  }
}

TEST(Kineto, AnEventFarFromAllOthersIsLeftOut) {
  for (const char* time : {"0", "-4e14", "1e15", "999999999999"}) {
    SCOPED_TRACE(time);
    std::string events;
    for (int i = 0; i < 5; ++i)
      events += fmt::format(
          R"({{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 40000000000{}, "dur": 1}},)",
          i);
    const Trace trace = trace_of(fmt::format(
        R"({{"traceEvents": [{}{{"ph": "X", "cat": "cpu_op", "name": "odd", "pid": 1, "tid": 1, "ts": {}, "dur": 1}}]}})",
        events, time));
    EXPECT_EQ(trace.spans.size(), 5u);
    EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("a day or more from the others")));
  }
}

TEST(Kineto, TimesAreExactToTheNanosecond) {
  Result<ImportedFile> file = read_text(
      R"({"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 4361524469938.598, "dur": 0.001},
      {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 4361524469938.599, "dur": 215.677},
      {"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": "4361524469939", "dur": 1e3}]})");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->epoch_ns, 1790857026000000000 + 4361524469938598);
  EXPECT_THAT(file->trace.spans.start_ns, ElementsAre(0, 1, 402));
  EXPECT_THAT(file->trace.spans.duration_ns, ElementsAre(1, 215677, 1000000));
}

TEST(Kineto, EventsOutOfOrderComeOutInOrderParentsFirst) {
  const Trace trace = trace_of(R"({"traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "late", "pid": 1, "tid": 1, "ts": 30, "dur": 1},
      {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 10, "dur": 5},
      {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 10, "dur": 15}]})");
  EXPECT_THAT(names(trace), ElementsAre("outer", "inner", "late"));
}

TEST(Kineto, CategoriesSayWhatTheTimeWasSpentOn) {
  const auto on_host = [](const char* category, const char* name) {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 1, "ts": 50, "dur": 1}})",
                       category, name);
  };
  const auto category = [&](const char* kind, const char* name) {
    return trace_of(with_events(on_host(kind, name))).spans.category.at(1);
  };
  EXPECT_EQ(category("cuda_runtime", "cudaLaunchKernel"), Category::kRuntime);
  EXPECT_EQ(category("cuda_driver", "cuLaunchKernelEx"), Category::kRuntime);
  EXPECT_EQ(category("cuda_runtime", "cudaStreamSynchronize"), Category::kSynchronization);
  EXPECT_EQ(category("cuda_runtime", "cudaEventSynchronize"), Category::kSynchronization);
  EXPECT_EQ(category("cuda_runtime", "cudaStreamWaitEvent"), Category::kRuntime);
  EXPECT_EQ(category("cuda_runtime", "cudaMalloc"), Category::kAllocation);
  EXPECT_EQ(category("cuda_runtime", "cudaFree"), Category::kAllocation);
  EXPECT_EQ(category("cuda_driver", "cuMemMap"), Category::kAllocation);
  EXPECT_EQ(category("cuda_driver", "cuMemcpyAsync"), Category::kRuntime);
  EXPECT_EQ(category("user_annotation", "ProfilerStep#3"), Category::kRegion);
  EXPECT_EQ(category("python_function", "train.py(3): step"), Category::kFunction);
  EXPECT_EQ(category("overhead", "Activity Buffer Request"), Category::kOverhead);
}

TEST(Kineto, ADevicesStreamsAreTracksOfTheProcessThatDrivesThem) {
  const Trace trace = trace_of(with_events(
      R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 7, "ts": 50, "dur": 1, "args":
        {"device": 2, "stream": 7, "correlation": 9, "grid": [3, 2, 1], "block": [64, 1, 1],
         "registers per thread": 32, "shared memory": 1024, "External id": 4}},
      {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 2, "tid": 1000007, "ts": 51, "dur": 1},
      {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 2, "tid": 7,
       "ts": 52, "dur": 1, "args": {"device": 2, "stream": 7, "bytes": 4096}})json"));
  ASSERT_THAT(names(trace),
              ElementsAre("first", "k", "Stream Sync", "Memcpy HtoD (Pageable -> Device)", "last"));
  const Track& stream = trace.tracks[trace.spans.track[1].index];
  EXPECT_EQ(stream.kind, TrackKind::kStream);
  EXPECT_EQ(stream.device, 2);
  EXPECT_EQ(stream.tid, 7);
  EXPECT_EQ(trace.tracks[stream.process.index].pid, 1);
  EXPECT_EQ(trace.spans.track[2], trace.spans.track[1]);
  EXPECT_EQ(trace.spans.category[2], Category::kSynchronization);
  EXPECT_EQ(trace.spans.correlation[1], 9u);
  EXPECT_THAT(trace.launches.at(0).grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(trace.launches.at(0).block, ElementsAre(64, 1, 1));
  EXPECT_EQ(trace.launches.at(0).registers, 32u);
  EXPECT_EQ(trace.launches.at(0).shared_bytes, 1024u);
  EXPECT_EQ(trace.launches.at(0).external, 4u);
  EXPECT_EQ(trace.copies.at(0).from, MemoryKind::kPageable);
  EXPECT_EQ(trace.copies.at(0).to, MemoryKind::kDevice);
  EXPECT_EQ(trace.copies.at(0).bytes, 4096);
}

TEST(Kineto, InputsOfCallsAreCanonicalText) {
  const Trace trace =
      trace_of(with_events(op("aten::addmm", R"(, "args": {"Sequence number": 17, "External id": 5,
      "Concrete Inputs": ["", "", "", "0.5", "[1, 1]", ""], "Input type": ["float", "c10::BFloat16", "TensorList", "Scalar", "ScalarList", ""],
      "Input Strides": [[1], [1, 8], [[3, 1], [1]], [], [], []], "Input Dims": [[4], [8, 8], [[2, 3], [5]], [], [], []]})")));
  ASSERT_EQ(trace.calls.size(), 3u);
  EXPECT_EQ(trace.strings.text(trace.calls[1].inputs),
            "f32[4] bf16[8,8]{1,8} (undefined[2,3] undefined[5]) =0.5 =[1,1] -");
  EXPECT_EQ(trace.calls[1].sequence, 17);
  EXPECT_EQ(trace.calls[1].external, 5u);
  EXPECT_EQ(trace.calls[0].sequence, kNoSequence);
}

TEST(Kineto, ArrowsJoinForwardAndBackwardWhereSequenceNumbersAreMissing) {
  const Trace trace = trace_of(R"({"traceEvents": [
      {"ph": "X", "cat": "cpu_op", "name": "forward", "pid": 1, "tid": 1, "ts": 10, "dur": 5},
      {"ph": "s", "id": 42, "pid": 1, "tid": 1, "ts": 10, "cat": "fwdbwd", "name": "fwdbwd"},
      {"ph": "X", "cat": "cpu_op", "name": "other", "pid": 1, "tid": 1, "ts": 20, "dur": 5},
      {"ph": "X", "cat": "cpu_op", "name": "backward", "pid": 1, "tid": 2, "ts": 30, "dur": 5},
      {"ph": "f", "id": 42, "pid": 1, "tid": 2, "ts": 30, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}]})");
  ASSERT_EQ(trace.calls.size(), 3u);
  EXPECT_EQ(trace.calls[0].sequence, 42);
  EXPECT_EQ(trace.calls[1].sequence, kNoSequence);
  EXPECT_EQ(trace.calls[2].sequence, 42);
}

TEST(Kineto, WrongTypesAndUnknownKindsDoNoHarm) {
  const Trace trace = trace_of(with_events(
      R"({"ph": "X", "cat": "kernel", "name": 7, "pid": "zero", "tid": [1], "ts": 50, "dur": 1, "args": {"device": {}, "stream": "x", "correlation": -3, "grid": "big", "block": [1e99, -1, "a"], "External id": [[]]}},
      {"ph": "X", "cat": "lunar_phase", "name": "a", "pid": 1, "tid": 1, "ts": 50, "dur": 1},
      {"ph": "i", "name": "instant", "ts": 50}, {"ph": "C", "name": "counter", "ts": 50}, {"ph": 5}, {}, [], 7, "text", null)"));
  EXPECT_THAT(names(trace), ElementsAre("first", "7", "last"));
  EXPECT_THAT(trace.meta.warnings, testing::Contains(HasSubstr("of a kind that hone does not know")));
}

TEST(Kineto, DeepNestingIsNoStackOverflow) {
  const std::string deep(200'000, '[');
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"args":)";
  EXPECT_FALSE(read_text(R"({"traceEvents": [)" + deep).ok());
  EXPECT_FALSE(read_text(R"({"traceEvents": [)" + objects).ok());
  EXPECT_FALSE(read_text(deep).ok());
  EXPECT_FALSE(read_text(objects).ok());
  EXPECT_THAT(names(trace_of(with_events(op("a", R"(, "args": {"x": )" + deep + "}")))),
              testing::Contains("last"));
  EXPECT_THAT(names(trace_of(R"({"deviceProperties": )" + deep + R"(, "traceEvents": [)" + op("a") + "]}")),
              ElementsAre("a"));
}

TEST(Kineto, StepsAroundTheRecordingAreThoseThatTheProgramTells) {
  const Trace trace = trace_of(R"({"honeSteps": {"untouched_ms": [1.5, 2, -1, "x"], "left_alone_ms": 7,
      "recorded_ms": [3]}, "traceEvents": [)" +
                               op("a") + "]}");
  ASSERT_EQ(trace.meta.block_steps.size(), 3u);
  const BlockSteps &first = trace.meta.block_steps[0], &last = trace.meta.block_steps[2];
  EXPECT_EQ(first.mode, BlockMode::kUntouched);
  EXPECT_EQ(first.mean_ns, 1.5e6);
  EXPECT_FALSE(first.shown);
  EXPECT_EQ(last.mode, BlockMode::kOperators);
  EXPECT_TRUE(last.shown);
}

TEST(Kineto, SaysHowLongTheRecordingThreadHadNoCpuWhereTheProgramTells) {
  const auto use_of = [](const std::string& host) {
    return trace_of("{\"honeHost\": " + host + ", \"traceEvents\": [" + op("a") + "]}").host_use;
  };
  const std::vector<HostUse> use = use_of(R"({"seconds": 2, "in_line_s": 0.5})");
  ASSERT_EQ(use.size(), 1u);
  EXPECT_EQ(use[0].seconds, 2);
  EXPECT_EQ(use[0].main_in_line_s, 0.5);
  EXPECT_EQ(use_of(R"({"seconds": 1, "in_line_s": 7})")[0].main_in_line_s, 1);
  for (const char* not_told : {"3", R"({"seconds": 0, "in_line_s": 0})", R"({"seconds": 1, "in_line_s": -1})",
                               R"({"seconds": "x"})"})
    EXPECT_TRUE(use_of(not_told).empty()) << not_told;
}

TEST(Kineto, HeaderAndFooterMayComeInAnyOrderAndBroken) {
  const std::string info =
      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 3]}]},
      "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0, "numSms": 132}])";
  const std::string list = R"("traceEvents": [)" + op("a") + "]";
  for (const std::string& text : {"{" + info + "," + list + "}", "{" + list + "," + info + "}",
                                  "{" + info + R"(, "empty": , "bad": "a"b",)" + list + "}"}) {
    SCOPED_TRACE(text);
    Result<ImportedFile> file = read_text(text);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->rank, 3);
    const RankInfo& rank = file->trace.meta.ranks.at(0);
    EXPECT_EQ(rank.world_size, 8);
    EXPECT_EQ(rank.backend, "nccl");
    EXPECT_THAT(rank.groups.at(0).ranks, ElementsAre(0, 3));
    EXPECT_EQ(file->trace.meta.devices.at(0).name, "NVIDIA H200");
    EXPECT_EQ(file->trace.meta.devices.at(0).multiprocessors, 132);
  }
}

TEST(Kineto, ABareListOfEventsIsATraceToo) {
  EXPECT_THAT(names(trace_of("[" + op("a") + "]")), ElementsAre("a"));
  EXPECT_THAT(names(trace_of("\xef\xbb\xbf [" + op("a") + "," + op("b") + "\n]\n")), ElementsAre("a", "b"));
}

TEST(Kineto, NothingUsefulIsAnErrorThatSaysWhy) {
  for (const char* text :
       {"{}", "[]", "{", "[", R"({"traceEvents": []})", R"({"traceEvents": [)", R"({"a": [1, 2]})",
        R"([{"name": "x"}])", R"({"traceEvents": [{"ph": "X", "cat": "cpu_op"}]})"}) {
    SCOPED_TRACE(text);
    Result<ImportedFile> file = read_text(text);
    ASSERT_FALSE(file.ok());
    EXPECT_FALSE(file.error().message.empty());
  }
}

TEST(Kineto, TheResultDependsOnNeitherChunksNorThreads) {
  std::string events;
  for (int i = 0; i < 500; ++i) {
    events += (i > 0 ? "," : "") +
              op(fmt::format("op{}", i % 37), fmt::format(R"(, "args": {{"External id": {}}})", i));
    if (i % 50 == 7) events += "," + op(R"(bad "quote")");
  }
  const std::string text = with_events(events);
  Result<ImportedFile> expected = read_text(text);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(expected->trace.spans.size(), 512u);
  for (const std::size_t chunk : {1u, 100u, 1000u, 4097u})
    for (const int threads : {1, 2, 3}) {
      Result<ImportedFile> file = read_text(text, chunk, threads);
      ASSERT_TRUE(file.ok());
      EXPECT_EQ(file->trace.spans.start_ns, expected->trace.spans.start_ns);
      EXPECT_EQ(names(file->trace), names(expected->trace));
      EXPECT_EQ(file->trace.spans.name, expected->trace.spans.name);
      EXPECT_EQ(file->trace.calls, expected->trace.calls);
      EXPECT_EQ(file->trace.tracks, expected->trace.tracks);
      EXPECT_EQ(file->trace.meta, expected->trace.meta);
    }
}

// profile_memory=True: an event says how much was taken, and a thread's operators and functions who did.
TEST(Kineto, KnowsWhoTookMemory) {
  const std::string memory =
      R"("cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 5, "tid": 5, "ph": "i", "args": {"Device Type": 1, "Device Id": 0, )";
  const Trace trace =
      trace_of(R"({"traceEvents": [
      {"ph": "X", "cat": "python_function", "name": "/home/u/train.py(31): step", "pid": 5, "tid": 5, "ts": 100, "dur": 50},
      {"ph": "X", "cat": "python_function", "name": "/usr/lib/python3/dist-packages/torch/nn/functional.py(2901): linear", "pid": 5, "tid": 5, "ts": 101, "dur": 40},
      {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 5, "tid": 5, "ts": 110, "dur": 20},
      {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 5, "tid": 5, "ts": 112, "dur": 4},
      {)" + memory +
               R"("Addr": 4096, "Bytes": 512, "Total Allocated": 1512, "Total Reserved": 4000}, "ts": 113},
      {)" + memory +
               R"("Addr": 4096, "Bytes": -512, "Total Allocated": 1000, "Total Reserved": 4000}, "ts": 160},
      {)" + memory +
               R"("Addr": 1, "Bytes": 99999999999999999999}, "ts": 170}]})");
  ASSERT_NE(trace.memory, nullptr);
  ASSERT_EQ(trace.memory->events.size(), 2u);
  const MemoryEvent& taken = trace.memory->events[0];
  EXPECT_EQ(taken.action, MemoryAction::kTake);
  EXPECT_EQ(taken.time_ns, 13'000);
  EXPECT_EQ(taken.bytes, 512);
  EXPECT_EQ(taken.allocated, 1512);
  EXPECT_EQ(taken.reserved, 4000);
  EXPECT_EQ(trace.memory->holders[taken.holder].line, "train.py:31 step");
  EXPECT_EQ(trace.memory->holders[taken.holder].inside, "aten::linear");
  EXPECT_EQ(trace.memory->events[1].action, MemoryAction::kGive);
  EXPECT_EQ(trace.memory->events[1].bytes, 512);
}

}  // namespace
}  // namespace hone::trace::kineto
