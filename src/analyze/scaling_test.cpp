// Programs of very many spans that stand within each other, or begin and end together: reading, joining and
// explaining them takes n log n. Compared are processor times of this process at two sizes, so that neither a
// slow machine nor a busy one decides: eight times the spans take 8 to 10 times as long, but 64 times as long
// where anything walks outwards from every span.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze {
namespace {

constexpr int kFewSpans = 20'000;
constexpr int kManySpans = 8 * kFewSpans;
constexpr double kMostTimes = 24;
constexpr double kLeastSeconds = 0.02;  // of the smaller: less is the processor's caches, not the work

// A recording as PyTorch's profiler writes it, event by event. Times in µs.
class Recording {
 public:
  void span(std::string_view name, std::string_view category, double start, double us,
            std::string_view args = "") {
    add(name, category, 1, 1, start, us, args);
  }
  void kernel(double launched, double start, double us, int thread = 1) {
    ++correlation_;
    add("cudaLaunchKernel", "cuda_runtime", 1, thread, launched, 0.1,
        fmt::format(R"("correlation":{})", correlation_));
    add("ampere_sgemm_32x32", "kernel", 0, 7, start, us,
        fmt::format(R"("correlation":{},"device":0,"stream":7)", correlation_));
  }
  std::string json() const {
    return R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)" +
           events_ + "]}";
  }

 private:
  void add(std::string_view name, std::string_view category, int pid, int tid, double start, double us,
           std::string_view args) {
    events_ += fmt::format(
        R"({}{{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
        events_.empty() ? "" : ",\n", name, category, pid, tid, start, us, args);
  }

  std::string events_;
  int correlation_ = 0;
};

constexpr std::string_view kInputs = R"("Input Dims":[[8,8],[8,8]],"Input type":["float","float"])";

// Three steps, each of so many spans, of which `fill` makes one step's from its start.
Recording three_steps(int spans, const std::function<void(Recording&, int, double)>& fill) {
  Recording recording;
  for (int step = 0; step < 3; ++step) {
    const double start = step * 4.0 * spans;
    recording.span(fmt::format("ProfilerStep#{}", step), "user_annotation", start, 3.0 * spans);
    fill(recording, spans / 3, start + 1);
  }
  return recording;
}

Recording nested(int spans, std::string_view name, std::string_view category, int launches) {
  return three_steps(spans, [&](Recording& recording, int depth, double start) {
    for (int i = 0; i < depth; ++i)
      recording.span(name, category, start + i, 2.5 * depth - 2 * i, category == "cpu_op" ? kInputs : "");
    for (int i = 0; i < launches; ++i) {
      const double at = start + depth + i * 0.4;
      recording.kernel(at, at + 0.2, 0.1);
      recording.span("cudaStreamSynchronize", "cuda_runtime", at + 0.2, 0.15);
    }
  });
}

Recording nested_operators(int spans) { return nested(spans, "aten::item", "cpu_op", spans / 10); }
Recording nested_ranges(int spans) { return nested(spans, "part", "user_annotation", spans / 10); }

// A program that used no device: call stacks, ranges and operators of any depth.
Recording nested_calls_alone(int spans) { return nested(spans, "call", "python_function", 0); }
Recording nested_ranges_alone(int spans) { return nested(spans, "part", "user_annotation", 0); }
Recording nested_operators_alone(int spans) { return nested(spans, "aten::mm", "cpu_op", 0); }
Recording nested_calls(int spans) { return nested(spans, "call", "python_function", spans / 10); }

Recording equal_spans(int spans, std::string_view name, std::string_view category) {
  return three_steps(spans, [&](Recording& recording, int count, double start) {
    for (int i = 0; i < count; ++i) recording.span(name, category, start, count);
    recording.kernel(start + 1, start + 2, 5);
  });
}

Recording equal_operators(int spans) { return equal_spans(spans, "aten::mm", "cpu_op"); }
Recording equal_ranges(int spans) { return equal_spans(spans, "part", "user_annotation"); }

Recording equal_kernels(int spans) {
  return three_steps(spans, [](Recording& recording, int count, double start) {
    for (int i = 0; i < count / 2; ++i) recording.kernel(start + i, start + count, 10);
  });
}

// Each launched by a thread of its own.
Recording kernels_of_many_threads(int spans) {
  return three_steps(spans, [](Recording& recording, int count, double start) {
    for (int i = 0; i < count / 8; ++i) recording.kernel(start + i, start + i + 0.3, 0.5, 1 + i);
  });
}

// Each begins before any other has ended.
Recording overlapping_kernels(int spans) {
  return three_steps(spans, [](Recording& recording, int count, double start) {
    for (int i = 0; i < count / 2; ++i) recording.kernel(start + i, start + count / 2 + i, count);
  });
}

Recording operators_that_differ_in_a_value(int spans) {
  return three_steps(spans, [](Recording& recording, int count, double start) {
    for (int i = 0; i < count; ++i)
      recording.span("aten::add", "cpu_op", start + i, 0.9,
                     fmt::format(R"("Input Dims":[[8,8],[]],"Input type":["float","Scalar"],)"
                                 R"("Concrete Inputs":["","{}.5"])",
                                 start + i));
    recording.kernel(start + 1, start + 2, 5);
  });
}

double seconds_to_explain(const std::filesystem::path& file, int repeats) {
  double least = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();
    auto trace = trace::import_trace(std::vector{file});
    EXPECT_TRUE(trace.ok());
    EXPECT_TRUE(trace::link_trace(*trace).ok());
    EXPECT_TRUE(analyze_trace(*trace, Roofs{}, {}).ok());
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

struct Shape {
  const char* name;
  Recording (*make)(int spans);
};

class Scaling : public testing::TestWithParam<Shape> {};

TEST_P(Scaling, IsFarFromASquare) {
  const auto file = std::filesystem::temp_directory_path() /
                    fmt::format("hone_scaling_{}_{}.json", GetParam().name, std::clock());
  const auto seconds = [&](int spans, int repeats) {
    std::ofstream(file) << GetParam().make(spans).json();
    return seconds_to_explain(file, repeats);
  };
  const double few = std::max(kLeastSeconds, seconds(kFewSpans, 3));
  const double many = seconds(kManySpans, 1);
  std::filesystem::remove(file);
  EXPECT_LT(many, kMostTimes * few) << few << " s for " << kFewSpans << " spans, " << many << " s for "
                                    << kManySpans;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Scaling,
    testing::Values(Shape{"nested_operators", nested_operators}, Shape{"nested_ranges", nested_ranges},
                    Shape{"nested_calls", nested_calls}, Shape{"nested_calls_alone", nested_calls_alone},
                    Shape{"nested_ranges_alone", nested_ranges_alone},
                    Shape{"nested_operators_alone", nested_operators_alone},
                    Shape{"equal_operators", equal_operators}, Shape{"equal_ranges", equal_ranges},
                    Shape{"equal_kernels", equal_kernels}, Shape{"overlapping_kernels", overlapping_kernels},
                    Shape{"kernels_of_many_threads", kernels_of_many_threads},
                    Shape{"operators_that_differ_in_a_value", operators_that_differ_in_a_value}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace hone::analyze
