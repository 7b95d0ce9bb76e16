#include "kernels/cuda/pad.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kManyPadVectors = int64_t{1} << 20;  // from here on a thread has several loads on their way

struct PadAxis {
  int64_t extent = 1, before = 0, after = 0;

  int64_t padded() const { return extent + before + after; }
  bool is_padded() const { return before != 0 || after != 0; }
};

struct PadPlan {
  std::vector<PadAxis> axes;  // outermost first; at least one
  int64_t results = 1;        // elements
  int64_t lanes = 1;
  bool vector_loads = false;  // all vectors lie wholly in the input, or wholly beside it
  int64_t each = 1;           // vectors of a thread

  int64_t vectors() const { return (results + lanes - 1) / lanes; }
};

// An axis behind which nothing is padded is one with its neighbour: as many elements in a row. What is mirrored must
// stay whole.
std::vector<PadAxis> joined_axes(const PadProgram& program) {
  std::vector<PadAxis> axes;
  for (std::size_t i = 0; i < program.shape.size(); ++i) {
    const PadAxis axis{program.shape[i], program.before[i], program.after[i]};
    const bool joins = !axes.empty() && !axis.is_padded() &&
                       (program.mode == PadProgram::Mode::kConstant || !axes.back().is_padded());
    if (joins) {
      PadAxis& outer = axes.back();
      outer = {outer.extent * axis.extent, outer.before * axis.extent, outer.after * axis.extent};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

Result<PadPlan> plan_pad(const PadProgram& program) {
  PadPlan plan{.axes = joined_axes(program)};
  for (const PadAxis& axis : plan.axes) {
    if (axis.padded() < 1) return unsupported("padding to nothing");
    plan.results *= axis.padded();
  }
  const auto size = static_cast<int64_t>(program.element_size);
  const PadAxis& last = plan.axes.back();
  const auto whole = [&](int64_t lanes) {
    return last.extent % lanes == 0 && last.before % lanes == 0 && last.after % lanes == 0;
  };
  while (plan.lanes * 2 * size <= 16 && whole(plan.lanes * 2)) plan.lanes *= 2;
  // Half of the widest vector is better than a whole one that is looked up; less is not.
  plan.vector_loads = plan.lanes * size >= 8 || size == 8;
  if (!plan.vector_loads)
    while (plan.lanes * 2 * size <= 16) plan.lanes *= 2;
  if (plan.vector_loads && plan.vectors() >= kManyPadVectors) plan.each = 4;
  return plan;
}

// Where an axis of `extent` has what stands at `at`; -1: nowhere.
std::string_view padded_text(PadProgram::Mode mode) {
  switch (mode) {
    case PadProgram::Mode::kConstant:
      return "  return -1;\n";
    case PadProgram::Mode::kEdge:
      return "  return at < 0 ? 0 : extent - 1;\n";
    case PadProgram::Mode::kReflect:
      return "  if (extent == 1) return 0;\n  const hone_signed period = 2 * (extent - 1);\n"
             "  const hone_signed folded = (at % period + period) % period;\n"
             "  return folded < extent ? folded : period - folded;\n";
    case PadProgram::Mode::kWrap:
      return "  return (at % extent + extent) % extent;\n";
  }
  return {};
}

// Where the input has element `rest` of the result; -1: nowhere, or, with `within`, beside the innermost axis.
std::string source_function(std::string_view name, const PadPlan& plan, bool within) {
  std::string text = fmt::format(
      "HONE_FUNCTION hone_i64 {}(hone_index rest) {{\n  hone_i64 from = 0;\n  bool inside = true;\n", name);
  int64_t step = 1;
  for (std::size_t axis = plan.axes.size(); axis-- > 0;) {
    const PadAxis& at = plan.axes[axis];
    const std::string place = axis == 0 ? "rest" : fmt::format("rest % (hone_index){}", at.padded());
    if (at.is_padded())
      text += fmt::format(
          "  {{\n    const hone_signed at = {}((hone_signed)({}) - (hone_signed){}LL, (hone_signed){}LL);\n"
          "    inside = inside && at >= 0;\n    from += (hone_i64)at * {}LL;\n  }}\n",
          within && axis + 1 == plan.axes.size() ? "hone_within" : "hone_padded", place, at.before, at.extent,
          step);
    else
      text += fmt::format("  from += (hone_i64)({}) * {}LL;\n", place, step);
    if (axis > 0) text += fmt::format("  rest /= (hone_index){};\n", at.padded());
    step *= at.extent;
  }
  return text + "  return inside ? from : -1;\n}\n";
}

// All loads of a thread before its first store, and none branched around.
constexpr std::string_view kPadVectors = R"cuda(
typedef HoneVector<Element, kLanes> Wide;
extern "C" __global__ void __launch_bounds__(256, 1) hone_pad(const Element* in, Element* out, const Element* value) {
  const hone_index first = (hone_index)blockIdx.x * (kEach * 256) + threadIdx.x;
  const Element filling = value ? *value : (Element)0;
  Wide wide[kEach];
  hone_i64 from[kEach];
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const hone_index e = first + u * 256;
    from[u] = e < (hone_index)kVectors ? hone_first(e * kLanes) : -1;
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) wide[u].at[i] = filling;
    if (from[u] >= 0) wide[u] = *(const Wide*)(in + from[u]);
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const hone_index e = first + u * 256;
    if (e >= (hone_index)kVectors) continue;
    if (!kConstant && from[u] < 0) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) wide[u].at[i] = in[hone_source(e * kLanes + i)];
    }
    *(Wide*)(out + e * kLanes) = wide[u];
  }
}
)cuda";

// The last vector may end behind the result.
constexpr std::string_view kPadElements = R"cuda(
typedef HoneVector<Element, kLanes> Wide;
extern "C" __global__ void __launch_bounds__(256, 1) hone_pad(const Element* in, Element* out, const Element* value) {
  const hone_index e = ((hone_index)blockIdx.x * 256 + threadIdx.x) * kLanes, last = (hone_index)(kResults - 1);
  if (e > last) return;
  const Element filling = value ? *value : (Element)0;
  Wide wide;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const hone_i64 from = hone_source(e + i < last ? e + i : last);
    wide.at[i] = filling;
    if (from >= 0) wide.at[i] = in[from];
  }
  if (kResults % kLanes == 0 || e + (kLanes - 1) <= last) {
    *(Wide*)(out + e) = wide;
    return;
  }
  for (int i = 0; i < kLanes; ++i)
    if (e + i <= last) out[e + i] = wide.at[i];
}
)cuda";

std::string_view unsigned_of(int64_t bytes) {
  return bytes == 1   ? "unsigned char"
         : bytes == 2 ? "unsigned short"
         : bytes == 4 ? "unsigned"
                      : "unsigned long long";
}

}  // namespace

Result<PadKernel> generate_pad(const PadProgram& program) {
  const auto size = static_cast<int64_t>(program.element_size);
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return unsupported(fmt::format("padding elements of {} bytes", size));
  if (program.shape.empty() || element_count(program.shape) == 0) return unsupported("padding nothing");
  HONE_ASSIGN(const PadPlan plan, plan_pad(program));
  PadKernel kernel;
  kernel.lanes = plan.lanes;
  kernel.vector_loads = plan.vector_loads;
  kernel.blocks = (plan.vectors() + kPadBlock * plan.each - 1) / (kPadBlock * plan.each);
  const bool small = plan.results < (int64_t{1} << 31) &&
                     element_count(program.shape) < (int64_t{1} << 30);  // periods: twice
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Element;\ntypedef {} hone_index;\ntypedef {} hone_signed;\n"
      "constexpr int kLanes = {}, kEach = {};\nconstexpr hone_i64 kResults = {}, kVectors = {};\n"
      "constexpr bool kConstant = {};\n",
      unsigned_of(size), small ? "unsigned" : "unsigned long long", small ? "int" : "hone_i64", plan.lanes,
      plan.each, plan.results, plan.vectors(), program.mode == PadProgram::Mode::kConstant);
  text += fmt::format(
      "HONE_FUNCTION hone_signed hone_within(hone_signed at, hone_signed extent) {{\n"
      "  return at < extent ? at : -1;\n}}\n"
      "HONE_FUNCTION hone_signed hone_padded(hone_signed at, hone_signed extent) {{\n"
      "  if (at >= 0 && at < extent) return at;\n{}}}\n",
      padded_text(program.mode));
  text += source_function("hone_first", plan, true) + source_function("hone_source", plan, false);
  text += plan.vector_loads ? kPadVectors : kPadElements;
  kernel.source = {.name = "pad.cu", .text = std::move(text), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
