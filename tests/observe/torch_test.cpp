// PyTorch under the recorder, compared with what torch.profiler says of the same program. Needs a Python that can
// import PyTorch: HONE_TEST_PYTHON, or python3. Without one, what runs everywhere is src/observe/inject/torch.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "tests/cli/run_program.h"
#include "tests/observe/observed_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"
#include "trace/trace.h"

namespace hone::observe::testing {
namespace {

using ::testing::Contains;
using testing_support::ProgramResult;
using testing_support::run_program;
using trace::Category;
using trace::Trace;

std::string python_with_torch() {
  const char* named = std::getenv("HONE_TEST_PYTHON");
  const std::string python = named == nullptr ? "python3" : named;
  const bool has_torch = run_program("/usr/bin/env", {python, "-c", "import torch"}).exit_code == 0;
  return has_torch ? python : "";
}

struct RecordedCall {
  std::string name, inputs;
  double flops = 0, bytes = 0;
  bool has_sequence = false;
};

// What ran within the first range called "compared", on its thread and in its order.
std::vector<RecordedCall> calls_compared(const Trace& trace) {
  std::optional<trace::Span> range;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::Span span = trace.spans.row(row);
    if (trace.name(span) != "compared") continue;
    if (!range || span.start_ns < range->start_ns) range = span;
  }
  std::vector<std::pair<trace::Span, const trace::Call*>> found;
  for (const trace::Call& call : trace.calls) {
    const trace::Span span = trace.spans.row(call.span);
    if (range && span.track == range->track && span.start_ns >= range->start_ns &&
        span.end_ns() <= range->end_ns())
      found.emplace_back(span, &call);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.start_ns != b.first.start_ns ? a.first.start_ns < b.first.start_ns
                                                : a.first.duration_ns > b.first.duration_ns;
  });
  std::vector<RecordedCall> calls;
  for (const auto& [span, call] : found) {
    RecordedCall& recorded = calls.emplace_back();
    recorded.name = trace.name(span);
    if (call->inputs.valid()) recorded.inputs = trace.strings.text(call->inputs);
    recorded.has_sequence = call->sequence != trace::kNoSequence;
    if (!span.op.valid()) continue;
    recorded.flops = trace.operators[span.op.index].flops;
    recorded.bytes = trace.operators[span.op.index].bytes();
  }
  return calls;
}

// torch.profiler leaves the types of tensors in lists out.
std::string without_types_in_lists(const std::string& inputs) {
  std::string text;
  bool in_list = false, in_type = false;
  for (const char c : inputs) {
    if (c == '(' || c == ')') in_list = c == '(';
    if (in_list && (c == '(' || c == ' ')) {
      text += c;
      in_type = true;
      continue;
    }
    if (c == '[' || !in_list) in_type = false;
    if (!in_type) text += c;
  }
  return text;
}

Trace imported(const std::filesystem::path& path) {
  auto trace = trace::import_trace(std::span(&path, 1));
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  if (!trace.ok()) return {};
  EXPECT_TRUE(trace::link_trace(*trace).ok());
  return std::move(*trace);
}

TEST(PyTorch, IsRecordedAsTorchProfilerRecordsIt) {
  const std::string python = python_with_torch();
  if (python.empty()) {
    std::cerr << "\n*** NOT RUN: no Python with PyTorch here (HONE_TEST_PYTHON names one). ***\n\n";
    return;
  }
  RunFolder folder;
  folder.order(trace::segments::Mode::kOperators);
  const std::filesystem::path kineto = folder.path() / "kineto.json";
  testing_support::RunOptions options;
  options.time_limit = std::chrono::seconds(120);
  options.environment = {{kFolderVariable, folder.path()},
                         {"CUDA_INJECTION64_PATH", build_folder() / "libhone_inject.so"}};
  const ProgramResult ran = run_program("/usr/bin/env",
                                        {python, source_folder() / "tests/observe/torch_program.py",
                                         source_folder() / "python/hone_observe", kineto},
                                        options);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, ::testing::HasSubstr("armed: 2"));

  const Trace theirs = imported(kineto);
  std::filesystem::remove(kineto);
  const Trace ours = imported(folder.path());
  const std::vector<RecordedCall> expected = calls_compared(theirs), found = calls_compared(ours);
  ASSERT_GT(expected.size(), 500u);
  ASSERT_EQ(found.size(), expected.size());
  double flops = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, expected[i].name) << i;
    EXPECT_EQ(without_types_in_lists(found[i].inputs), without_types_in_lists(expected[i].inputs))
        << found[i].name;
    EXPECT_EQ(found[i].has_sequence, expected[i].has_sequence) << found[i].name;
    EXPECT_EQ(found[i].flops, expected[i].flops) << found[i].name << ' ' << found[i].inputs;
    flops += found[i].flops;
  }
  EXPECT_GT(flops, 1e6);

  std::vector<std::string> regions;
  for (std::size_t row = 0; row < ours.spans.size(); ++row)
    if (ours.spans.category[row] != Category::kOperator) regions.emplace_back(ours.name(ours.spans.row(row)));
  for (const char* name :
       {"Optimizer.step#SGD.step", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "nn.Module: Net", "nn.Module: blocks.1", "nn.Module: up"})
    EXPECT_THAT(regions, Contains(name));
}

}  // namespace
}  // namespace hone::observe::testing
