// Operators over axes: Reduce*, ArgMax, ArgMin, cumulative sums, TopK, softmax and its relatives.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// Which output element each input element goes to.
struct Groups {
  Shape shape;                 // of the output
  std::vector<int64_t> group;  // of each input element
  int64_t count = 0;           // input elements of a group
};

Result<Groups> groups(const RefCall& call) {
  const Shape& extents = call.inputs[0].shape();
  std::vector<bool> reduce(extents.size());
  const Ints axes = call.has(1) ? call.inputs[1].to_ints() : Ints{};
  if (axes.empty() && call.attributes.integer("noop_with_empty_axes", 0) == 0)
    reduce.assign(extents.size(), true);
  for (int64_t axis : axes) {
    HONE_ASSIGN(const int64_t at, normalize_axis(axis, static_cast<int64_t>(extents.size())));
    reduce[static_cast<std::size_t>(at)] = true;
  }
  const bool keepdims = call.attributes.integer("keepdims", 1) != 0;
  Groups result;
  Shape kept;  // with 1 in place of the reduced axes
  result.count = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    kept.push_back(reduce[i] ? 1 : extents[i]);
    if (reduce[i]) result.count *= extents[i];
    if (!reduce[i] || keepdims) result.shape.push_back(kept.back());
  }
  result.group = broadcast_offsets(kept, extents);
  return result;
}

// f(group's value, element) over each group, from `initial`.
template <typename W, typename Fold>
std::vector<W> fold(const Groups& groups, const std::vector<W>& values, W initial, Fold f) {
  std::vector<W> result(static_cast<std::size_t>(element_count(groups.shape)), initial);
  for (std::size_t i = 0; i < values.size(); ++i) {
    W& value = result[static_cast<std::size_t>(groups.group[i])];
    value = f(value, values[i]);
  }
  return result;
}

// The fold's neutral element, the fold, and what is done with its result and the size of the group.
template <auto initial, auto f, auto finish>
Outputs reduce(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(Groups where, groups(call));
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto result = fold(where, widen<W>(x), initial(W{}, x.dtype()), f);
    for (W& value : result) value = convert<W>(finish(value, where.count));
    return one(narrow(x.dtype(), where.shape, result));
  });
}

constexpr auto kZero = [](auto tag, DType) { return decltype(tag){0}; };
constexpr auto kOne = [](auto tag, DType) { return decltype(tag){1}; };
constexpr auto kSame = [](auto value, int64_t) { return value; };
constexpr auto kAdd = [](auto a, auto b) { return add(a, b); };
constexpr auto kAddAbsolute = [](auto a, auto b) { return add(a, b < 0 ? negate(b) : b); };
constexpr auto kAddSquare = [](auto a, auto b) { return add(a, multiply(b, b)); };

// The smallest and the largest value of a dtype: infinities for floats.
constexpr auto kLowest = []<typename W>(W, DType dtype) -> W {
  if constexpr (std::is_floating_point_v<W>) return -std::numeric_limits<W>::infinity();
  if (dtype == DType::kBool || !is_signed(dtype)) return 0;
  return static_cast<W>(std::numeric_limits<int64_t>::min() >> (64 - dtype_bits(dtype)));
};
constexpr auto kHighest = []<typename W>(W, DType dtype) -> W {
  if constexpr (std::is_floating_point_v<W>) return std::numeric_limits<W>::infinity();
  if (dtype == DType::kBool) return 1;
  if (is_signed(dtype))
    return static_cast<W>(std::numeric_limits<int64_t>::max() >> (64 - dtype_bits(dtype)));
  return static_cast<W>(std::numeric_limits<uint64_t>::max() >> (64 - dtype_bits(dtype)));
};

// The mean of nothing is NaN; integers have no NaN and give 0.
template <typename W>
W mean(W sum, int64_t count) {
  if (std::is_integral_v<W> && count == 0) return 0;
  return divide(sum, static_cast<W>(count));
}

// In two passes, so that large elements do not overflow.
Outputs reduce_log_sum_exp(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(Groups where, groups(call));
  const auto values = widen<double>(x);
  auto largest = fold(where, values, -std::numeric_limits<double>::infinity(),
                      [](double a, double b) { return maximum(a, b); });
  for (double& value : largest) value = std::isinf(value) ? 0 : value;
  std::vector<double> sums(largest.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto group = static_cast<std::size_t>(where.group[i]);
    sums[group] += std::exp(values[i] - largest[group]);
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::log(sums[i]) + largest[i];
  return one(narrow(x.dtype(), where.shape, sums));
}

// --- along one axis ---

// Calls visit(positions) with the offsets of the elements of each line along `axis`.
template <typename Visit>
void for_each_line(const Shape& shape, int64_t axis, Visit visit) {
  const AxisView view = around_axis(shape, axis);
  std::vector<std::size_t> line(static_cast<std::size_t>(view.extent));
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      for (int64_t i = 0; i < view.extent; ++i) {
        line[static_cast<std::size_t>(i)] =
            static_cast<std::size_t>((outer * view.extent + i) * view.inner + inner);
      }
      visit(std::span<const std::size_t>(line));
    }
  }
}

// NaN comes before everything: it is both the largest and the smallest.
template <typename W>
bool better(W a, W b, bool largest) {
  if (not_a_number(b)) return false;
  return not_a_number(a) || (largest ? a > b : a < b);
}

template <bool largest>
Outputs arg(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, x.rank()));
  const bool last = call.attributes.integer("select_last_index", 0) != 0;
  Shape shape = x.shape();
  if (shape[static_cast<std::size_t>(axis)] == 0) return bad_call(call, "the axis is empty");
  if (call.attributes.integer("keepdims", 1) != 0) {
    shape[static_cast<std::size_t>(axis)] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  std::vector<int64_t> result;
  with_wide(x.dtype(), [&]<typename W>(W) {
    const auto values = widen<W>(x);
    for_each_line(x.shape(), axis, [&](std::span<const std::size_t> line) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < line.size(); ++i) {
        const W a = values[line[i]];
        const W b = values[line[best]];
        if (better(a, b, largest) || (last && !better(b, a, largest))) best = i;
      }
      result.push_back(static_cast<int64_t>(best));
    });
  });
  return one(narrow(DType::kI64, std::move(shape), result));
}

template <auto initial, auto f>
Outputs cumulative(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  if (call.inputs[1].size() != 1) return bad_call(call, "the axis must be a scalar");
  HONE_ASSIGN(const int64_t axis, normalize_axis(call.inputs[1].int_at(0), x.rank()));
  const bool exclusive = call.attributes.integer("exclusive", 0) != 0;
  const bool reverse = call.attributes.integer("reverse", 0) != 0;
  return with_wide(x.dtype(), [&]<typename W>(W) -> Outputs {
    auto values = widen<W>(x);
    for_each_line(x.shape(), axis, [&](std::span<const std::size_t> line) {
      W running = initial(W{}, x.dtype());
      for (std::size_t i = 0; i < line.size(); ++i) {
        W& value = values[line[reverse ? line.size() - 1 - i : i]];
        const W before = running;
        running = f(running, value);
        value = exclusive ? before : running;
      }
    });
    return one(narrow(x.dtype(), x.shape(), values));
  });
}

Outputs top_k(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, x.rank()));
  const int64_t k = call.inputs[1].size() == 1 ? call.inputs[1].int_at(0) : -1;
  Shape shape = x.shape();
  int64_t& extent = shape[static_cast<std::size_t>(axis)];
  if (k < 0 || k > extent) return bad_call(call, fmt::format("k is {}, the axis has {}", k, extent));
  extent = k;
  const bool largest = call.attributes.integer("largest", 1) != 0;
  const AxisView view = around_axis(shape, axis);
  std::vector<int64_t> source(static_cast<std::size_t>(element_count(shape)));
  std::vector<int64_t> indices(source.size());
  with_wide(x.dtype(), [&]<typename W>(W) {
    const auto values = widen<W>(x);
    int64_t line_number = 0;
    for_each_line(x.shape(), axis, [&](std::span<const std::size_t> line) {
      std::vector<std::size_t> order(line.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return better(values[line[a]], values[line[b]], largest);
      });
      const int64_t outer = line_number / view.inner;
      const int64_t inner = line_number % view.inner;
      for (int64_t i = 0; i < k; ++i) {
        const auto to = static_cast<std::size_t>((outer * k + i) * view.inner + inner);
        const std::size_t chosen = order[static_cast<std::size_t>(i)];
        source[to] = static_cast<int64_t>(line[chosen]);
        indices[to] = static_cast<int64_t>(chosen);
      }
      ++line_number;
    });
  });
  auto outputs = one(gather_elements(x, shape, source));
  outputs.push_back(narrow(DType::kI64, std::move(shape), indices));
  return outputs;
}

// Rewrites each line of a float tensor along `axis` by f(line's values).
template <auto f>
Outputs along_axis(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  const Shape shape = x.rank() == 0 ? Shape{1} : x.shape();
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, static_cast<int64_t>(shape.size())));
  auto values = widen<double>(x);
  for_each_line(shape, axis, [&](std::span<const std::size_t> line) {
    if (!line.empty()) f(values, line);
  });
  return one(narrow(x.dtype(), x.shape(), values));
}

using Line = std::span<const std::size_t>;

double largest_of(const std::vector<double>& values, Line line) {
  double largest = values[line[0]];
  for (std::size_t i : line) largest = maximum(largest, values[i]);
  return largest;
}

void softmax(std::vector<double>& values, Line line) {
  const double largest = largest_of(values, line);
  double sum = 0;
  for (std::size_t i : line) sum += std::exp(values[i] - largest);
  for (std::size_t i : line) values[i] = std::exp(values[i] - largest) / sum;
}

void log_softmax(std::vector<double>& values, Line line) {
  const double largest = largest_of(values, line);
  double sum = 0;
  for (std::size_t i : line) sum += std::exp(values[i] - largest);
  for (std::size_t i : line) values[i] -= largest + std::log(sum);
}

void hardmax(std::vector<double>& values, Line line) {
  std::size_t best = line[0];
  for (std::size_t i : line) best = better(values[i], values[best], true) ? i : best;
  for (std::size_t i : line) values[i] = i == best ? 1 : 0;
}

}  // namespace

void add_reduction_kernels(RefTable& table) {
  constexpr auto kRoot = [](auto sum, int64_t) { return std::sqrt(static_cast<double>(sum)); };
  constexpr auto kLog = [](auto sum, int64_t) { return std::log(static_cast<double>(sum)); };
  constexpr auto kMean = [](auto sum, int64_t count) { return mean(sum, count); };
  constexpr auto kMultiply = [](auto a, auto b) { return multiply(a, b); };
  constexpr auto kMaximum = [](auto a, auto b) { return maximum(a, b); };
  constexpr auto kMinimum = [](auto a, auto b) { return minimum(a, b); };
  table.add("ReduceL1", reduce<kZero, kAddAbsolute, kSame>);
  table.add("ReduceL2", reduce<kZero, kAddSquare, kRoot>);
  table.add("ReduceLogSum", reduce<kZero, kAdd, kLog>);
  table.add("ReduceLogSumExp", reduce_log_sum_exp);
  table.add("ReduceMax", reduce<kLowest, kMaximum, kSame>);
  table.add("ReduceMean", reduce<kZero, kAdd, kMean>);
  table.add("ReduceMin", reduce<kHighest, kMinimum, kSame>);
  table.add("ReduceProd", reduce<kOne, kMultiply, kSame>);
  table.add("ReduceSum", reduce<kZero, kAdd, kSame>);
  table.add("hone.ReduceSum", of_f32<reduce<kZero, kAdd, kSame>>);
  table.add("ReduceSumSquare", reduce<kZero, kAddSquare, kSame>);
  table.add("ArgMax", arg<true>);
  table.add("ArgMin", arg<false>);
  table.add("CumSum", cumulative<kZero, kAdd>);
  table.add("CumProd", cumulative<kOne, kMultiply>);
  table.add("TopK", top_k);
  table.add("Softmax", along_axis<softmax>);
  table.add("LogSoftmax", along_axis<log_softmax>);
  table.add("Hardmax", along_axis<hardmax>);
}

}  // namespace hone::kernels::ref
