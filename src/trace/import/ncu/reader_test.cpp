// Two real tables of an H200 (tests/traces/ncu, Nsight Compute 2025.3, --set detailed); the others are made
// up from the documentation and the counters' names, for what those do not show.
#include "trace/import/ncu/reader.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "trace/import/ncu/csv.h"
#include "trace/import/ncu/kernel_metrics.h"
#include "trace/kernel_family.h"

namespace hone::trace::ncu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRaw = R"csv(==PROF== Connected to process 4711 (/usr/bin/python3)
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","sm__ops_path_tensor_src_bf16_dst_fp32.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","launch__registers_per_thread","device__attribute_display_name","device__attribute_multiprocessor_count"
"","","","","","","","","","","","Mbyte","byte","usecond","","%","%","%","inst","register/thread","",""
"0","4711","python3","127.0.0.1","gemm_kernel<float>(int, ""x"")","1","7","(256, 1, 1)","(132, 2, 1)","0","9.0","16.5","4,194,304","1,250.50","17,179,869,184","81.25","12.5","30","1,000","168","NVIDIA H200","132"
"1","4711","python3","127.0.0.1","copy_kernel(float *)","1","7","(1024, 1, 1)","(4096, 1, 1)","0","9.0","100","100,000,000","50","0","10","90","88.5","0","16","NVIDIA H200","132"
"2","4711","python3","127.0.0.1","gemm_kernel<float>(int, ""x"")","1","7","(256, 1, 1)","(132, 2, 1)","0","9.0","16.5","4,194,304","1,150.50","17,179,869,184","81.25","12.5","30","1,000","168","NVIDIA H200","132"
)csv";

constexpr const char* kDetails =
    R"csv("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Duration","us","20.5","","",""
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Memory Throughput","%","92.1","","",""
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","GPU Speed Of Light Throughput","DRAM Throughput","%","92.0","","",""
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","SpeedOfLight","","","","SOLBottleneck","INF","text, with a comma"
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","Memory Workload Analysis","Memory Throughput","Tbyte/s","2","","",""
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","Occupancy","Achieved Occupancy","%","78","","",""
"0","1","a.out","h","saxpy(int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","Launch Statistics","Registers Per Thread","register/thread","18","","",""
)csv";

Result<ImportedFile> read_ncu_text(std::string_view text) {
  const auto source = bytes_in_memory(text);
  return read_ncu(*source);
}

ImportedFile real(const char* page) {
  const auto source = open_bytes(source_folder() / "tests/traces/ncu" / page);
  EXPECT_TRUE(source.ok());
  auto file = read_ncu(**source);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  return file.ok() ? std::move(*file) : ImportedFile{};
}

TEST(NcuCsv, BothPagesOfARealReportTellTheSameTimes) {
  const ImportedFile raw = real("raw.csv.gz"), details = real("details.csv.gz");
  ASSERT_EQ(raw.trace.spans.size(), 9u);
  ASSERT_EQ(details.trace.spans.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(static_cast<double>(raw.trace.spans.duration_ns[i]),
                static_cast<double>(details.trace.spans.duration_ns[i]), 10'000);
  EXPECT_EQ(raw.trace.meta.devices.at(0).name, "NVIDIA H200");
  EXPECT_EQ(raw.trace.meta.warnings.size(), 1u);  // no timeline
  // torch.randn(4096, 4096) @ itself, f32: 2·4096³ and the f32 of the epilogue
  const Operator& product = raw.trace.operators[raw.trace.spans.op[3].index];
  EXPECT_EQ(product.op_class, OperatorClass::kMatrix);
  EXPECT_EQ(product.dtype, DType::kF32);
  EXPECT_NEAR(product.flops, 2.0 * 4096 * 4096 * 4096, 0.01 * product.flops);
}

TEST(NcuCsv, KernelsOfTheRawPageLieEndToEndWithTheirCounters) {
  Result<ImportedFile> file = read_ncu_text(kRaw);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Trace& trace = file->trace;
  EXPECT_TRUE(trace.validate().ok());
  EXPECT_THAT(trace.spans.start_ns, ElementsAre(0, 1250500, 1300500));
  EXPECT_THAT(trace.spans.duration_ns, ElementsAre(1250500, 50000, 1150500));
  EXPECT_EQ(trace.name(trace.spans.row(0)), "gemm_kernel<float>(int, \"x\")");
  EXPECT_EQ(trace.spans.op[0], trace.spans.op[2]);
  const Operator& gemm = trace.operators[trace.spans.op[0].index];
  EXPECT_EQ(gemm.kind, kernel_short_name("gemm_kernel<float>(int, \"x\")"));
  EXPECT_EQ(gemm.dtype, DType::kBF16);
  EXPECT_DOUBLE_EQ(gemm.flops, 17179869184.0 + 2000);
  EXPECT_DOUBLE_EQ(gemm.bytes_read, 16.5e6);
  EXPECT_DOUBLE_EQ(gemm.bytes_written, 4194304);
  EXPECT_EQ(gemm.geometry, "limited by compute (81 % busy); occupancy 12 %");
  EXPECT_THAT(trace.operators[trace.spans.op[1].index].geometry, HasSubstr("limited by DRAM (88 % busy)"));
  EXPECT_THAT(trace.launches.at(0).grid, ElementsAre(132, 2, 1));
  EXPECT_EQ(trace.launches.at(0).registers, 168u);
  ASSERT_EQ(trace.counters.size(), 3u);
  const KernelCounters& second = trace.counters[2];
  EXPECT_EQ(trace.strings.text(second.kernel), "gemm_kernel<float>(int, \"x\")");
  EXPECT_THAT(second.grid, ElementsAre(132, 2, 1));
  EXPECT_EQ(second.registers, 168u);
  EXPECT_EQ(second.instance, 1u);
  EXPECT_EQ(counter_value(second, trace.strings, "gpu__time_duration.sum"), 1150.5e3);
  EXPECT_EQ(counter_value(second, trace.strings, "dram__bytes_read.sum"), 16.5e6);
  EXPECT_FALSE(counter_value(second, trace.strings, "Block Size"));
  ASSERT_EQ(trace.meta.devices.size(), 1u);
  EXPECT_EQ(trace.meta.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(trace.meta.devices[0].multiprocessors, 132);
  EXPECT_EQ(trace.meta.devices[0].compute_major, 9);
  EXPECT_THAT(trace.meta.warnings, ElementsAre(HasSubstr("no timeline")));
}

TEST(NcuCsv, TheDetailsPageHasAMetricARow) {
  Result<ImportedFile> file = read_ncu_text(kDetails);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const Trace& trace = file->trace;
  ASSERT_EQ(trace.spans.size(), 1u);
  EXPECT_EQ(trace.spans.duration_ns[0], 20500);
  const Operator& op = trace.operators.at(0);
  EXPECT_DOUBLE_EQ(op.bytes_read, 2e12 * 20.5e-6);
  EXPECT_EQ(op.geometry, "limited by DRAM (92 % busy); occupancy 78 %");
  EXPECT_EQ(trace.launches.at(0).registers, 18u);
}

TEST(NcuCsv, TablesWithoutKernelsOrTimesAreRefused) {
  for (const char* text :
       {"", "a,b\n1,2\n", "\"ID\",\"Kernel Name\"\n", "\"ID\",\"Kernel Name\"\n\"\",\"\"\n\"0\",\"k\"\n"}) {
    Result<ImportedFile> file = read_ncu_text(text);
    ASSERT_FALSE(file.ok());
    EXPECT_FALSE(file.error().message.empty());
  }
}

TEST(NcuCsv, CutOrChangedAnywhereItIsReadOrRefused) {
  const std::string whole = std::string(kRaw) + kDetails;
  for (std::size_t size = 0; size < whole.size(); size += 7)
    (void)read_ncu_text(std::string_view(whole).substr(0, size)).ok();
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    for (int edit = 0; edit < 3; ++edit) text[random() % text.size()] = "\",\n09-e.K"[random() % 9];
    Result<ImportedFile> file = read_ncu_text(text);
    ASSERT_TRUE(!file.ok() || file->trace.validate().ok());
  }
}

TEST(NcuCsv, ValuesHaveUnitsAndThousandsSeparators) {
  EXPECT_DOUBLE_EQ(*value_in_base_unit("1,234.5", "usecond"), 1234.5e3);
  EXPECT_DOUBLE_EQ(*value_in_base_unit("12", "Kbyte"), 12e3);
  EXPECT_DOUBLE_EQ(*value_in_base_unit("3.5", "Gbyte/second"), 3.5e9);
  EXPECT_DOUBLE_EQ(*value_in_base_unit("1.5", "cycle/nsecond"), 1.5e9);
  EXPECT_DOUBLE_EQ(*value_in_base_unit("2", "Minst"), 2e6);
  EXPECT_DOUBLE_EQ(*value_in_base_unit("45.5", "%"), 45.5);
  EXPECT_FALSE(value_in_base_unit("", "%"));
  EXPECT_FALSE(value_in_base_unit("n/a", ""));
  EXPECT_FALSE(value_in_base_unit("(1, 2, 3)", ""));
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineEnds) {
  CsvReader csv("a,\"b,c\",\"d \"\"e\"\"\"\r\n\n\"x\ny\",,z");
  std::vector<std::string> cells;
  ASSERT_TRUE(csv.next(cells));
  EXPECT_THAT(cells, ElementsAre("a", "b,c", "d \"e\""));
  ASSERT_TRUE(csv.next(cells));
  EXPECT_THAT(cells, ElementsAre("x\ny", "", "z"));
  EXPECT_FALSE(csv.next(cells));
}

}  // namespace
}  // namespace hone::trace::ncu
