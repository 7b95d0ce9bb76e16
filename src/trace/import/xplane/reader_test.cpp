// What a reader makes of XPlane files, on files written plane by plane; those that JAX and TensorFlow really wrote are
// in recordings_test.cpp.
#include "trace/import/xplane/reader.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/xplane/details.h"
#include "trace/import/xplane/host_events.h"
#include "trace/link/link.h"
#include "trace/source_line.h"
#include "trace/testing/hlo_writer.h"
#include "trace/testing/xspace_writer.h"

namespace hone::trace::xplane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace read(const std::vector<XPlane>& planes) {
  const std::string bytes = XSpaceWriter::space(planes);
  Result<ImportedFile> file = read_xplane(bytes);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  if (!file.ok()) return {};
  const Status valid = file->trace.validate();
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  return std::move(file->trace);
}

std::vector<Span> spans_of(const Trace& trace, Category category) {
  std::vector<Span> spans;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == category) spans.push_back(trace.spans.row(row));
  return spans;
}

const HloRows kModule = {1,
                         {{.name = "p0", .opcode = "parameter", .type = kHloBf16, .dims = {64, 32}},
                          {.name = "p1", .opcode = "parameter", .type = kHloBf16, .dims = {32, 16}},
                          {.name = "gemm.1",
                           .opcode = "custom-call",
                           .type = kHloBf16,
                           .dims = {64, 16},
                           .operands = {1, 2},
                           .op_name = "jit(step)/jvp(block0)/dot_general",
                           .target = "__cublas$gemm",
                           .config = R"({"lhs_contracting_dimensions":["1"]})",
                           .file = "/home/u/train.py",
                           .line = 31},
                          {.name = "add_fusion.2",
                           .opcode = "add",
                           .type = kHloBf16,
                           .dims = {64, 16},
                           .operands = {3, 3},
                           .op_name = "jit(step)/transpose(jvp(block0))/add"}}};

XPlane metadata_plane() {
  return {
      .name = "/host:metadata",
      .stats = {{"jax_version", "0.10.2"}, {"process_id", int64_t{77}}},
      .kinds = {{"jit_step(17)", {"", {{"Hlo Proto", hlo_proto({kModule})}, {"program_id", int64_t{17}}}}}}};
}

XEvent kernel(std::string name, int64_t start, int64_t duration, int64_t correlation, const char* op) {
  return {std::move(name),
          start,
          duration,
          {{"correlation_id", correlation},
           {"kernel_details",
            XRef{"regs:40 static_shared:1024 dynamic_shared:2048 grid:8,2,1 block:128,1,1 occ_pct:50"}},
           {"hlo_op", XRef{op}},
           {"hlo_module", XRef{"jit_step"}},
           {"program_id", int64_t{17}}}};
}

XEvent launch(int64_t start, int64_t correlation) {
  return {"cuLaunchKernel", start, 4, {{"correlation_id", correlation}}};
}

// Three steps of a product in two kernels and an addition, on a GPU.
std::vector<XPlane> gpu_program() {
  XLine python{5, "python"}, stream{13, "Stream #13(Compute,MemcpyH2D)"}, derived{99, "XLA Ops"};
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t at = 1000 * i;
    python.events.push_back({"train", at, 900, {{"_r", int64_t{1}}, {"step_num", int64_t{100 + i}}}});
    python.events.push_back({"PjitFunction(step)", at + 5, 300});
    python.events.push_back({"PjitFunction(step)", at + 6, 290});
    for (int64_t k = 0; k < 4; ++k) python.events.push_back(launch(at + 20 + 10 * k, 4 * i + k + 1));
    python.events.push_back({"np.asarray(jax.Array)", at + 400, 400});
    python.events.push_back({"$array.py:629 _value", at + 401, 390});
    stream.events.push_back(
        {"MemcpyH2D",
         at + 30,
         20,
         {{"correlation_id", 4 * i + 1},
          {"memcpy_details", XRef{"kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}}}});
    stream.events.push_back(kernel("sm90_gemm", at + 60, 100, 4 * i + 2, "gemm.1"));
    stream.events.push_back(kernel("splitKreduce_kernel", at + 170, 20, 4 * i + 3, "gemm.1"));
    stream.events.push_back(kernel("add_fusion_2", at + 200, 50, 4 * i + 4, "add_fusion.2"));
    derived.events.push_back({"gemm.1", at + 60, 130});
  }
  return {
      metadata_plane(),
      {.name = "/host:CPU", .lines = {python}},
      {.name = "/device:GPU:0",
       .lines = {stream, derived},
       .stats = {{"gpu_device_name", "NVIDIA H100 80GB HBM3"},
                 {"core_count", int64_t{132}},
                 {"memory_size", int64_t{80} << 30},
                 {"compute_cap_major", int64_t{9}}}},
      {.name = "Task Environment", .stats = {{"profile_start_time", int64_t{1'795'445'036'519'451'066}}}}};
}

TEST(XplaneReader, OfAGpuHasItsDeviceLaunchesAndCopies) {
  const Trace trace = read(gpu_program());
  EXPECT_EQ(trace.meta.framework, Framework::kJax);
  EXPECT_EQ(trace.meta.device, "cuda");
  ASSERT_EQ(trace.meta.devices.size(), 1u);
  EXPECT_EQ(trace.meta.devices[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(trace.meta.devices[0].multiprocessors, 132);
  EXPECT_EQ(spans_of(trace, Category::kKernel).size(), 9u);
  EXPECT_EQ(spans_of(trace, Category::kRuntime).size(), 12u);
  EXPECT_EQ(spans_of(trace, Category::kSynchronization).size(), 3u);
  EXPECT_EQ(spans_of(trace, Category::kFunction).size(), 0u);  // how it waits
  EXPECT_EQ(spans_of(trace, Category::kRegion).size(), 3u);    // a call is marked twice, one within the other
  ASSERT_EQ(trace.copies.size(), 3u);
  EXPECT_EQ(trace.copies[0].from, MemoryKind::kPageable);
  EXPECT_EQ(trace.copies[0].to, MemoryKind::kDevice);
  EXPECT_EQ(trace.copies[0].bytes, 4096);
  EXPECT_THAT(trace.launches[0].grid, ElementsAre(8, 2, 1));
  EXPECT_THAT(trace.launches[0].block, ElementsAre(128, 1, 1));
  EXPECT_EQ(trace.launches[0].registers, 40u);
  EXPECT_EQ(trace.launches[0].shared_bytes, 3072u);
}

TEST(XplaneReader, GivesKernelsTheInstructionThatTheyAreOf) {
  const Trace trace = read(gpu_program());
  const std::vector<Span> kernels = spans_of(trace, Category::kKernel);
  const Operator& product = trace.operators[kernels[0].op.index];
  EXPECT_EQ(product.flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(product.module, "block0");
  EXPECT_EQ(product.phase, Phase::kForward);
  EXPECT_EQ(source_line(product.provenance), "train.py:31");
  EXPECT_EQ(kernels[1].op, kernels[0].op);
  EXPECT_EQ(trace.operators[kernels[2].op.index].phase, Phase::kBackward);
  // The two kernels of the product are one execution, those of the next step another.
  EXPECT_EQ(trace.launches[0].external, trace.launches[1].external);
  EXPECT_NE(trace.launches[0].external, trace.launches[3].external);
}

TEST(XplaneReader, TakesTheStepsThatTheProgramMarked) {
  Trace trace = read(gpu_program());
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(steps_found(trace.meta).how, kMarkedSteps);
  const std::vector<Span> steps = spans_of(trace, Category::kStep);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[1].step, 101);
  for (const Span& kernel : spans_of(trace, Category::kKernel)) EXPECT_NE(kernel.step, kNoStep);
}

TEST(XplaneReader, KnowsWhenTheProfileBegan) {
  const std::string bytes = XSpaceWriter::space(gpu_program());
  const Result<ImportedFile> file = read_xplane(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->has_epoch);
  EXPECT_EQ(file->epoch_ns, 1'795'445'036'519'451'066);
}

// What the program began runs on another thread, mostly after the mark.
TEST(XplaneReader, OfAProgramThatDoesNotWaitAStepLastsUntilTheNext) {
  XLine python{1, "python"}, worker{2, "tf_XLAEigen/2"};
  for (int64_t i = 0; i < 4; ++i) {
    python.events.push_back({"train", 1000 * i, 50, {{"step_num", i}}});
    worker.events.push_back(
        {"dot.1", 1000 * i + 40, 900, {{"hlo_op", XRef{"dot.1"}}, {"hlo_module", XRef{"jit_f"}}}});
    worker.events.push_back(
        {"add.2", 1000 * i + 950, 40, {{"hlo_op", XRef{"add.2"}}, {"hlo_module", XRef{"jit_f"}}}});
  }
  for (XEvent& event : worker.events) event.start_ns += 100;
  const Trace trace = read({{.name = "/host:CPU", .lines = {python, worker}}});
  const std::vector<Span> steps = spans_of(trace, Category::kStep);
  ASSERT_EQ(steps.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(steps[i].duration_ns, 1000);
  EXPECT_EQ(steps[3].end_ns(), 4090);
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("did not wait")));
}

// Its instructions come with their costs; one that runs others stands around them.
TEST(XplaneReader, OfATpuHasItsInstructionsAsRecorded) {
  const XLine ops{1,
                  "XLA Ops",
                  {{"%while.1 = while()", 100, 800},
                   {"%fusion.3 = f32[128,128] fusion(...)", 110, 300},
                   {"%all-reduce.4 = f32[128] all-reduce(...)", 500, 200},
                   {"%fusion.3 = f32[128,128] fusion(...)", 1110, 300}}};
  const XLine async{7, "Async XLA Ops", {{"%copy-start.9", 150, 100}}};
  const XLine steps{2, "Steps", {{"4", 100, 900}, {"5", 1100, 900}}};
  const XPlane plane{.name = "/device:TPU:0",
                     .lines = {steps, ops, async},
                     .stats = {{"device_type_string", "TPU v5e"}},
                     .kinds = {{"%while.1 = while()", {"while.1", {{"hlo_category", "while"}}}},
                               {"%fusion.3 = f32[128,128] fusion(...)",
                                {"fusion.3",
                                 {{"hlo_category", "convolution fusion"},
                                  {"flops", int64_t{4'000'000}},
                                  {"bytes_accessed", int64_t{196'608}},
                                  {"tf_op", "jit(step)/jvp(Dense_0)/dot_general:"}}}},
                               {"%all-reduce.4 = f32[128] all-reduce(...)",
                                {"all-reduce.4", {{"hlo_category", "all-reduce"}}}},
                               {"%copy-start.9", {"copy-start.9", {}}}}};
  Trace trace = read({plane});
  const std::vector<Span> kernels = spans_of(trace, Category::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  const Operator& fusion = trace.operators[kernels[0].op.index];
  EXPECT_EQ(fusion.flops, 4'000'000);
  EXPECT_EQ(fusion.bytes(), 196'608);
  EXPECT_EQ(fusion.op_class, OperatorClass::kConvolution);
  EXPECT_EQ(fusion.module, "Dense_0");
  EXPECT_EQ(spans_of(trace, Category::kCommunication).size(), 1u);
  EXPECT_EQ(spans_of(trace, Category::kMemcpy).size(), 1u);
  EXPECT_EQ(trace.meta.devices.at(0).name, "TPU v5e");
  EXPECT_EQ(trace.meta.device, "tpu");
  ASSERT_TRUE(link_trace(trace).ok());
  const std::vector<Span> marked = spans_of(trace, Category::kStep);
  ASSERT_EQ(marked.size(), 2u);
  EXPECT_EQ(marked[0].step, 4);
  EXPECT_EQ(spans_of(trace, Category::kKernel)[1].step, 5);
}

TEST(XplaneReader, NamesFunctionsOfPythonAsOtherProfilersDo) {
  EXPECT_EQ(python_frame("$train.py:31 step"), "train.py(31): step");
  EXPECT_EQ(python_frame("$<unknown> __exit__"), "<unknown> __exit__");
  const Trace trace = read({{.name = "/host:CPU", .lines = {{1, "python", {{"$train.py:31 step", 0, 50}}}}}});
  EXPECT_EQ(trace.strings.text(trace.spans.name[0]), "train.py(31): step");
  EXPECT_EQ(trace.spans.category[0], Category::kFunction);
}

TEST(XplaneReader, ReadsDetailsInAnyOrder) {
  const Launch launch = kernel_details("grid:1,2,3\nblock:4,5,6\nregs:7");
  EXPECT_THAT(launch.grid, ElementsAre(1, 2, 3));
  EXPECT_THAT(launch.block, ElementsAre(4, 5, 6));
  EXPECT_EQ(launch.registers, 7u);
  EXPECT_THAT(kernel_details("grid:x,,99999999999999999999").grid, ElementsAre(0, 0, 0));
  EXPECT_EQ(copy_words(memcpy_details("kind_src:device kind_dst:pinned size:8")),
            "Memcpy DtoH (Device -> Pinned)");
}

TEST(XplaneReader, EveryRowOfTheTableOfHostEventsCanDecide) {
  EXPECT_THAT(unreachable_rows(host_event_table()), testing::IsEmpty());
}

TEST(XplaneReader, LeavesOutEventsOfImpossibleTimes) {
  const Trace trace =
      read({{.name = "/host:CPU", .lines = {{1, "python", {{"a", 10, 50}, {"b", -500, 3}, {"c", 20, -7}}}}}});
  EXPECT_EQ(trace.spans.size(), 1u);
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("2 events left out")));
  EXPECT_EQ(trace.meta.lost, 2u);
}

TEST(XplaneReader, WithoutEventsSaysWhatToDo) {
  const std::string bytes = XSpaceWriter::space({metadata_plane()});
  const Result<ImportedFile> file = read_xplane(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("jax.profiler.trace"));
}

TEST(XplaneReader, CutOffSaysSoAndKeepsWhatCameBefore) {
  const std::string bytes = XSpaceWriter::space(gpu_program());
  const std::size_t gpu = bytes.find("/device:GPU:0");
  const Result<ImportedFile> file = read_xplane(std::string_view(bytes).substr(0, gpu + 400));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(file->trace.meta.cut_off);
  EXPECT_GT(spans_of(file->trace, Category::kStep).size(), 0u);
  EXPECT_THAT(file->trace.meta.warnings, testing::Contains(HasSubstr("cut off")));
}

TEST(XplaneReader, CutOrChangedAnywhereItIsReadOrRefused) {
  const std::string bytes = XSpaceWriter::space(gpu_program());
  const auto try_to_read = [](std::string_view text) {
    Result<ImportedFile> file = read_xplane(text);
    if (!file.ok()) {
      EXPECT_FALSE(file.error().message.empty());
      return;
    }
    const Status valid = file->trace.validate();
    ASSERT_TRUE(valid.ok()) << valid.error().message;
    ASSERT_TRUE(link_trace(file->trace).ok());
  };
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7) try_to_read(std::string_view(bytes).substr(0, cut));
  std::string changed = bytes;
  for (std::size_t at = 0; at < bytes.size(); at += 3)
    for (const char flip : {'\x01', '\x80', '\x7f'}) {
      changed[at] = static_cast<char>(bytes[at] ^ flip);
      try_to_read(changed);
      changed[at] = bytes[at];
    }
}

}  // namespace
}  // namespace hone::trace::xplane
