// Databases that Nsight Systems really wrote, of versions 2023.4 (CUDA 12.4) and 2025.3 (CUDA 13.0): programs
// of tests/traces/record on an H200, three steps each (tests/traces/nsys).
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/launches.h"
#include "trace/testing/inflated.h"

namespace hone::trace::nsys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Trace exported(const std::string& name) {
  const Inflated file(source_folder() / "tests/traces/nsys" / (name + ".sqlite.gz"));
  const std::vector<std::filesystem::path> paths = {file.path};
  Result<Trace> trace = import_trace(paths);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
  return trace.ok() ? std::move(*trace) : Trace{};
}

std::ptrdiff_t count(const Trace& trace, Category category) {
  return std::count(trace.spans.category.begin(), trace.spans.category.end(), category);
}

TEST(NsysExports, OfAnEagerProgramHasItsKernelsCallsAndOperators) {
  const Trace trace = exported("layout_channels_first.2025.3");
  EXPECT_EQ(count(trace, Category::kKernel), 684);
  EXPECT_EQ(count(trace, Category::kMemset), 63);
  EXPECT_EQ(count(trace, Category::kRegion) + count(trace, Category::kOperator), 2058);
  EXPECT_EQ(trace.launches.size(), 684u);
  EXPECT_EQ(trace.copies.size(), 63u);
  EXPECT_THAT(trace.meta.warnings, IsEmpty());
  ASSERT_EQ(trace.meta.devices.size(), 1u);
  EXPECT_EQ(trace.meta.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(trace.meta.devices[0].multiprocessors, 132);
  EXPECT_EQ(trace.meta.devices[0].compute_major, 9);
  const SpanNesting nesting(trace);
  for (const link::DeviceWork& work : link::find_device_work(trace, nesting)) {
    EXPECT_NE(work.launch, kNoSpan);
    EXPECT_NE(work.caller, kNoSpan);
  }
  const auto first = std::find_if(trace.calls.begin(), trace.calls.end(), [&](const Call& call) {
    return trace.name(trace.spans.row(call.span)) == "aten::cudnn_convolution";
  });
  ASSERT_NE(first, trace.calls.end());
  EXPECT_THAT(trace.strings.text(first->inputs), HasSubstr("[32,3,224,224] undefined[128,3,7,7]"));
}

TEST(NsysExports, NameKernelsAsPyTorchsProfilerDoes) {
  const Trace trace = exported("layout_channels_first.2025.3");
  std::ptrdiff_t clamps = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kKernel) continue;
    const std::string_view name = trace.name(trace.spans.row(row));
    EXPECT_EQ(name.find("<unnamed>"), std::string_view::npos) << name;
    const bool of_pytorch =
        name.find("at::native::") != std::string_view::npos;  // not all symbols can be read
    EXPECT_FALSE(of_pytorch && name.find("<(int)") != std::string_view::npos) << name;
    clamps += name.starts_with(
        "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::"
        "launch_clamp_scalar(");
  }
  EXPECT_EQ(clamps, 24);  // eight layers, three steps
}

TEST(NsysExports, OfPageableCopiesSayWhereTheyCameFrom) {
  const Trace trace = exported("copy_pageable.2023.4");
  const auto copies = std::count_if(trace.copies.begin(), trace.copies.end(), [](const Copy& copy) {
    return copy.from == MemoryKind::kPageable && copy.to == MemoryKind::kDevice && copy.bytes == 67108864;
  });
  EXPECT_EQ(copies, 3);
  EXPECT_EQ(count(trace, Category::kMemcpy), 3);
}

TEST(NsysExports, OfCudaGraphsHaveTheirNodesOrTheirWhole) {
  const Trace nodes = exported("cuda_graph_nodes.2025.3");
  EXPECT_EQ(count(nodes, Category::kKernel), 60);
  EXPECT_TRUE(std::all_of(nodes.launches.begin(), nodes.launches.end(),
                          [](const Launch& launch) { return launch.graph_node != 0; }));
  EXPECT_THAT(nodes.meta.warnings, IsEmpty());
  const Trace whole = exported("cuda_graph_whole.2025.3");
  EXPECT_EQ(count(whole, Category::kKernel), 3);
  EXPECT_THAT(whole.meta.warnings, ElementsAre(HasSubstr("recorded as wholes")));
}

TEST(NsysExports, PackedOnesAreReadAsTheyAre) {
  const std::vector<std::filesystem::path> packed = {source_folder() /
                                                     "tests/traces/nsys/copy_pageable.2023.4.sqlite.gz"};
  const Result<Trace> trace = import_trace(packed);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->spans.start_ns, exported("copy_pageable.2023.4").spans.start_ns);
}

// Version 2023.4 exports nothing of graphs that were recorded as wholes.
TEST(NsysExports, WithoutTheWorkOfCudaGraphsSaySo) {
  const Trace trace = exported("cuda_graph_whole.2023.4");
  EXPECT_EQ(count(trace, Category::kKernel), 0);
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("launched 3 times, and nothing that ran in them")));
}

}  // namespace
}  // namespace hone::trace::nsys
