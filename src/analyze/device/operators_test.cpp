// Operators of a step: how often they run, and how near to which roof.
#include "analyze/device/operators.h"

#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// Steps of 1000 µs, marked by the profiler or not, with one call of a product in each: 50 GFLOP in 100 µs.
// Times in µs.
class Steps {
 public:
  Steps() {
    trace_.meta.devices = {{0, 0, "NVIDIA H200", 150e9, 132, 9, 0}};
    const trace::TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    stream_ = add_stream(trace_, process);
    trace::Operator product;
    product.name = product.kind = "aten::mm";
    product.op_class = trace::OperatorClass::kMatrix;
    product.dtype = DType::kBF16;
    product.flops = 50e9;
    product.bytes_read = product.bytes_written = 1e6;
    trace_.add_operator(product);
    trace::Operator copy;
    copy.name = copy.kind = "aten::copy_";
    copy.op_class = trace::OperatorClass::kMovement;
    copy.bytes_read = copy.bytes_written = 11e6;
    trace_.add_operator(copy);
  }

  Steps& step(bool marked) {
    const double start = 1000.0 * ++count_;
    if (marked)
      add_span(trace_, {.on = thread_,
                        .category = trace::Category::kStep,
                        .name = "ProfilerStep#" + std::to_string(count_),
                        .from_us = start,
                        .us = 1000,
                        .step = count_});
    call(0, start, marked ? count_ : trace::kNoStep);
    launch(start + 10, 100, "nvjet", trace::Category::kKernel);
    return *this;
  }

  // The last step copies 11 MB between host and device in 1000 µs.
  Steps& copy(trace::MemoryKind from, trace::MemoryKind to) {
    call(1, 1000.0 * count_ + 200, count_);
    const uint32_t row = launch(1000.0 * count_ + 210, 1000, "Memcpy", trace::Category::kMemcpy);
    trace_.copies.push_back({row, 0, from, to, 11e6});
    return *this;
  }

  Analysis analysis() const {
    auto result = analyze_device_trace(trace_, Roofs{}, {});
    EXPECT_TRUE(result.ok());
    return result.ok() ? std::move(*result) : Analysis{};
  }

  trace::Trace& trace() { return trace_; }

 private:
  void call(uint32_t op, double at, int32_t step) {
    op_ = op;
    step_ = step;
    add_span(trace_, {.on = thread_,
                      .category = trace::Category::kOperator,
                      .name = "an operator",
                      .from_us = at,
                      .us = 50,
                      .step = step,
                      .op = {op}});
  }

  uint32_t launch(double at, double us, std::string_view name, trace::Category category) {
    return add_launch(trace_, {.on = thread_, .from_us = at, .us = 5},
                      {.on = stream_,
                       .category = category,
                       .name = name,
                       .from_us = at + 10,
                       .us = us,
                       .step = step_,
                       .op = {op_}});
  }

  trace::Trace trace_;
  trace::TrackId thread_, stream_;
  uint32_t op_ = 0;
  int32_t step_ = 0;
  int32_t count_ = 0;
};

const OperatorTime& operator_row(const Analysis& analysis, std::string_view kind) {
  static const OperatorTime kNone;
  for (const OperatorTime& row : analysis.operators)
    if (row.kind == kind) return row;
  ADD_FAILURE() << kind;
  return kNone;
}

TEST(Operators, AreCountedInMarkedStepsAlone) {
  const Analysis all = Steps().step(true).step(true).step(true).analysis();
  for (const Analysis& analysis :
       {Steps().step(true).step(false).step(true).analysis(), Steps().step(false).step(true).analysis(),
        Steps().step(true).step(false).step(false).analysis()}) {
    EXPECT_DOUBLE_EQ(operator_row(analysis, "aten::mm").flops, 50e9);
    EXPECT_DOUBLE_EQ(operator_row(analysis, "aten::mm").ms.median, operator_row(all, "aten::mm").ms.median);
  }
}

TEST(Operators, ThatCopyBetweenHostAndDeviceAreHeldAgainstTheLinkThatTheyCross) {
  using enum trace::MemoryKind;
  for (const auto& [from, to] : {std::pair{kPageable, kDevice}, std::pair{kDevice, kPinned}}) {
    const Analysis analysis = Steps().step(true).step(true).copy(from, to).analysis();
    const OperatorTime& row = operator_row(analysis, "aten::copy_");
    EXPECT_EQ(row.roof, "host link");
    EXPECT_DOUBLE_EQ(row.bytes, 11e6 / 2) << "of an average step: every byte crosses once";
    EXPECT_NEAR(row.fraction_of_roof, 11e9 / 55.4e9, 1e-6);
  }
}

TEST(Operators, ThatCopyOnTheDeviceAreHeldAgainstItsMemory) {
  using enum trace::MemoryKind;
  const Analysis analysis = Steps().step(true).copy(kDevice, kDevice).analysis();
  EXPECT_EQ(operator_row(analysis, "aten::copy_").roof, "DRAM");
  EXPECT_DOUBLE_EQ(operator_row(analysis, "aten::copy_").bytes, 22e6);
}

TEST(Operators, ThatCopyToADeviceWhoseLinkIsNotKnownHaveNoRoof) {
  Steps steps;
  steps.step(true).copy(trace::MemoryKind::kPageable, trace::MemoryKind::kDevice);
  steps.trace().meta.devices.front().name = "A device of next year";
  const Analysis analysis = steps.analysis();
  EXPECT_EQ(operator_row(analysis, "aten::copy_").roof, "unknown");
  EXPECT_EQ(operator_row(analysis, "aten::copy_").fraction_of_roof, 0);
}

}  // namespace
}  // namespace hone::analyze::device
