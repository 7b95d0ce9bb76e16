// What the tests of this folder share: random tensors, layouts, and convolution, pooling and epilogues by
// their definitions in double precision. Slow and plain on purpose.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/layout.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/pooling.h"

namespace hone::kernels::testing {

using Values = std::vector<double>;

inline Tensor random_tensor(const Shape& shape, unsigned seed) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : tensor.as<float>()) value = uniform(random);
  return tensor;
}

// Memory full of NaN: what a kernel forgets to write shows.
inline Tensor poisoned(int64_t elements) {
  Tensor tensor(DType::kF32, {elements});
  std::fill_n(tensor.as<float>().begin(), elements, std::numeric_limits<float>::quiet_NaN());
  return tensor;
}

// Offset of logical element (n, c, pixel) in `layout`.
inline int64_t offset(const Shape& shape, Layout layout, int64_t n, int64_t c, int64_t pixel) {
  const int64_t channels = shape[1];
  const int64_t pixels = element_count(std::span(shape).subspan(2));
  switch (layout) {
    case Layout::kPlain:
      return (n * channels + c) * pixels + pixel;
    case Layout::kChannelsLast:
      return (n * pixels + pixel) * channels + c;
    case Layout::kBlocked8:
      return ((n * ((channels + 7) / 8) + c / 8) * pixels + pixel) * 8 + c % 8;
    case Layout::kBlocked16:
      return ((n * ((channels + 15) / 16) + c / 16) * pixels + pixel) * 16 + c % 16;
  }
  return 0;
}

// Calls visit(plain offset, offset in layout) for every element.
inline void for_each_element(const Shape& shape, Layout layout,
                             const std::function<void(int64_t, int64_t)>& visit) {
  const int64_t pixels = element_count(std::span(shape).subspan(2));
  int64_t plain = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t p = 0; p < pixels; ++p) visit(plain++, offset(shape, layout, n, c, p));
    }
  }
}

// `plain` stored in `layout`; the padding of channels is zero.
inline Tensor stored(const Tensor& plain, const Shape& shape, Layout layout) {
  Tensor result = Tensor::zeros(DType::kF32, {storage_elements(shape, layout)});
  for_each_element(shape, layout, [&](int64_t from, int64_t to) {
    result.as<float>()[static_cast<std::size_t>(to)] = plain.as<float>()[static_cast<std::size_t>(from)];
  });
  return result;
}

inline Values values_of(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

// Compares what lies in `got` with the plain `want`, element by element, and its channel padding with zero.
// The tolerance is relative to the largest value or, if larger, to `magnitude`: the terms of a sum that may
// cancel.
inline void expect_stored(const Tensor& got, const Values& want, const Shape& shape, Layout layout,
                          double tolerance, double magnitude = 1e-30) {
  std::vector<bool> seen(static_cast<std::size_t>(got.size()), false);
  double scale = magnitude;
  for (const double value : want) scale = std::max(scale, std::abs(value));
  double worst = 0;
  for_each_element(shape, layout, [&](int64_t plain, int64_t at) {
    const double error =
        std::abs(got.as<float>()[static_cast<std::size_t>(at)] - want[static_cast<std::size_t>(plain)]);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    seen[static_cast<std::size_t>(at)] = true;
  });
  EXPECT_LE(worst, tolerance * scale);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) {
      ASSERT_EQ(got.as<float>()[i], 0.0F) << "channel padding at " << i;
    }
  }
}

// Row-major walk over all index vectors of `shape`.
inline void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  Shape index(shape.size(), 0);
  for (int64_t left = element_count(shape); left > 0; --left) {
    visit(index);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

inline std::size_t at(const Shape& shape, const Shape& index) {
  int64_t position = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) position = position * shape[axis] + index[axis];
  return static_cast<std::size_t>(position);
}

inline Values convolve(const ConvolutionDesc& desc, const Tensor& src, const Tensor& weights,
                       const Tensor& bias) {
  const Shape src_shape = desc.src_shape();
  const Shape dst_shape = desc.dst_shape();
  const std::size_t rank = desc.input.size();
  const auto get = [rank](const Shape& extents, std::size_t axis, int64_t value) {
    return extents.size() == rank ? extents[axis] : value;
  };
  const int64_t in_group = desc.in_channels / desc.groups;
  const int64_t out_group = desc.out_channels / desc.groups;
  Values dst(static_cast<std::size_t>(element_count(dst_shape)), 0);
  if (desc.has_bias) {
    for_each_index(dst_shape, [&](const Shape& i) {
      dst[at(dst_shape, i)] = bias.as<float>()[static_cast<std::size_t>(i[1])];
    });
  }
  // `near` is the tensor with one entry a window (dst of a convolution, src of a transposed one); `far` the
  // other.
  const Shape& near_shape = desc.transposed ? src_shape : dst_shape;
  const Shape& far_shape = desc.transposed ? dst_shape : src_shape;
  // Positions are counted by hand: most tests of convolutions spend their time here.
  const auto image = [](const Shape& shape) { return element_count(shape) / (shape[0] * shape[1]); };
  const int64_t near_image = image(near_shape), far_image = image(far_shape);
  const int64_t taps = element_count(desc.kernel);
  const int64_t near_group = desc.transposed ? in_group : out_group;
  const int64_t far_group = desc.transposed ? out_group : in_group;
  const std::span<const float> from = src.as<float>(), by = weights.as<float>();
  Shape windows = near_shape;
  windows[1] = desc.groups;
  for_each_index(windows, [&](const Shape& window) {
    int64_t tap_at = -1;
    Shape near = window, far = window;
    for_each_index(desc.kernel, [&](const Shape& tap) {
      ++tap_at;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        far[axis + 2] = window[axis + 2] * get(desc.strides, axis, 1) +
                        tap[axis] * get(desc.dilations, axis, 1) - get(desc.pads_begin, axis, 0);
        if (far[axis + 2] < 0 || far[axis + 2] >= far_shape[axis + 2]) return;
      }
      near[1] = window[1] * near_group;
      far[1] = window[1] * far_group;
      const auto near_at = static_cast<int64_t>(at(near_shape, near));
      const auto far_at = static_cast<int64_t>(at(far_shape, far));
      for (int64_t n = 0; n < near_group; ++n) {
        // Weights are [near channels, far channels of a group, taps…], of transposed convolutions as well.
        const int64_t weight = (near[1] + n) * far_group * taps + tap_at;
        for (int64_t f = 0; f < far_group; ++f) {
          const auto near_place = static_cast<std::size_t>(near_at + n * near_image);
          const auto far_place = static_cast<std::size_t>(far_at + f * far_image);
          const double factor = by[static_cast<std::size_t>(weight + f * taps)];
          if (desc.transposed) {
            dst[far_place] += factor * from[near_place];
          } else {
            dst[near_place] += factor * from[far_place];
          }
        }
      }
    });
  });
  return dst;
}

inline Values pool(const PoolingDesc& desc, const Tensor& src) {
  const Shape src_shape = desc.src_shape();
  const Shape dst_shape = desc.dst_shape();
  const std::size_t rank = desc.input.size();
  const auto get = [rank](const Shape& extents, std::size_t axis, int64_t value) {
    return extents.size() == rank ? extents[axis] : value;
  };
  Values dst(static_cast<std::size_t>(element_count(dst_shape)));
  for_each_index(dst_shape, [&](const Shape& window) {
    double sum = 0;
    double most = -std::numeric_limits<double>::infinity();
    int64_t inside = 0;
    for_each_index(desc.kernel, [&](const Shape& tap) {
      Shape from = window;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        from[axis + 2] = window[axis + 2] * get(desc.strides, axis, 1) +
                         tap[axis] * get(desc.dilations, axis, 1) - get(desc.pads_begin, axis, 0);
        if (from[axis + 2] < 0 || from[axis + 2] >= src_shape[axis + 2]) return;
      }
      const double value = src.as<float>()[at(src_shape, from)];
      sum += value;
      most = std::max(most, value);
      ++inside;
    });
    double& result = dst[at(dst_shape, window)];
    if (desc.kind == PoolingDesc::Kind::kMax) result = most;
    if (desc.kind == PoolingDesc::Kind::kAverageExcludePad) result = sum / static_cast<double>(inside);
    if (desc.kind == PoolingDesc::Kind::kAverageIncludePad) {
      result = sum / static_cast<double>(element_count(desc.kernel));
    }
  });
  return dst;
}

inline double activate(const PostOp& op, double x) {
  using Kind = PostOp::Kind;
  const double alpha = op.alpha;
  const double beta = op.beta;
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  switch (op.kind) {
    case Kind::kRelu:
      return std::max(x, 0.0);
    case Kind::kLeakyRelu:
      return x > 0 ? x : alpha * x;
    case Kind::kClip:
      return std::clamp(x, alpha, beta);
    case Kind::kSigmoid:
      return sigmoid(x);
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Kind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Kind::kSwish:
      return x * sigmoid(alpha * x);
    case Kind::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case Kind::kHardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case Kind::kElu:
      return x > 0 ? x : alpha * std::expm1(x);
    case Kind::kSqrt:
      return std::sqrt(x);
    case Kind::kAbs:
      return std::abs(x);
    case Kind::kExp:
      return std::exp(x);
    case Kind::kLog:
      return std::log(x);
    case Kind::kSquare:
      return x * x;
    case Kind::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Kind::kSoftplus:
      return std::log1p(std::exp(x));
    case Kind::kLinear:
      return alpha * x + beta;
    default:
      ADD_FAILURE() << "not an activation";
      return 0;
  }
}

inline double combine(PostOp::Kind kind, double x, double operand) {
  using Kind = PostOp::Kind;
  switch (kind) {
    case Kind::kBinaryAdd:
      return x + operand;
    case Kind::kBinaryMul:
      return x * operand;
    case Kind::kBinarySub:
      return x - operand;
    case Kind::kBinaryDiv:
      return x / operand;
    case Kind::kBinaryMax:
      return std::max(x, operand);
    case Kind::kBinaryMin:
      return std::min(x, operand);
    default:
      ADD_FAILURE() << "not a binary operation";
      return 0;
  }
}

// `operands` are plain; `before` is what dst held, in plain order.
inline void apply_epilogue(const std::vector<PostOp>& post_ops, const Shape& shape,
                           const std::vector<Tensor>& operands, const Values& before, Values& values) {
  std::size_t next = 0;
  for (const PostOp& op : post_ops) {
    const Tensor* operand = op.is_binary() ? &operands[next++] : nullptr;
    for_each_index(shape, [&](const Shape& index) {
      double& x = values[at(shape, index)];
      if (operand == nullptr) {
        x = op.kind == PostOp::Kind::kSum ? x + op.alpha * before[at(shape, index)] : activate(op, x);
        return;
      }
      Shape theirs(op.operand_shape.size(), 0);
      const std::size_t lead = shape.size() - theirs.size();
      for (std::size_t axis = 0; axis < theirs.size(); ++axis) {
        theirs[axis] = op.operand_shape[axis] == 1 ? 0 : index[axis + lead];
      }
      x = combine(op.kind, x, operand->as<float>()[at(op.operand_shape, theirs)]);
    });
  }
}

// Runs an own kernel, with scratch memory full of NaN if it wants some.
template <typename Own>
void run_own(const Own& own, const Tensor& src, const Tensor& residual, Tensor& dst) {
  const float* from = src.as<float>().data();
  const float* other = residual.as<float>().data();
  if constexpr (requires { own.scratch_bytes(); }) {
    Tensor scratch = poisoned(static_cast<int64_t>(own.scratch_bytes() / sizeof(float)) + 1);
    own.execute(from, other, dst.as<float>().data(), scratch.data());
    EXPECT_TRUE(std::isnan(scratch.as<float>().back())) << "written beyond the scratch memory";
  } else {
    own.execute(from, other, dst.as<float>().data());
  }
}

// An own kernel of a blocked convolution, with a bias and at most a residual, against the definition.
// create(description, weights, bias) makes it.
template <typename Create>
void expect_created_right(const ConvolutionDesc& desc, const Create& create, double tolerance) {
  SCOPED_TRACE(shape_text(desc.src_shape()) + " kernel " + shape_text(desc.kernel) + " strides " +
               shape_text(desc.strides) + " pads " + shape_text(desc.pads_begin) + " to " +
               shape_text(desc.dst_shape()) + " [" + post_ops_text(desc.post_ops) + "]");
  const Tensor src = random_tensor(desc.src_shape(), 1);
  const Tensor weights = random_tensor(desc.weights_shape(), 2);
  const Tensor bias = random_tensor({desc.out_channels}, 3);
  const Tensor residual = random_tensor(desc.dst_shape(), 4);
  const auto made = create(desc, weights.data(), bias.data());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Tensor input = stored(src, desc.src_shape(), desc.src_layout);
  const Tensor other = stored(residual, desc.dst_shape(), desc.dst_layout);
  Tensor dst = poisoned(storage_elements(desc.dst_shape(), desc.dst_layout));
  run_own(**made, input, other, dst);
  Values want = convolve(desc, src, weights, bias);
  apply_epilogue(desc.post_ops, desc.dst_shape(), {residual}, {}, want);
  expect_stored(dst, want, desc.dst_shape(), desc.dst_layout, tolerance);
}

template <typename Own>
void expect_own_right(const ConvolutionDesc& desc, double tolerance) {
  expect_created_right(
      desc,
      [](const ConvolutionDesc& d, const void* weights, const void* bias) {
        return Own::create(d, weights, bias);
      },
      tolerance);
}

inline const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> layouts = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked8,
                                              Layout::kBlocked16};
  return layouts;
}

}  // namespace hone::kernels::testing
