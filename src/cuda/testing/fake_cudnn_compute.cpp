// What the fake cuDNN computes, in double.
#include <algorithm>
#include <cmath>

#include "cuda/testing/fake_cudnn_graph.h"
#include "cuda/testing/stored_numbers.h"

namespace hone::cuda::fake_cudnn {

double load(const void* data, CudnnDataType type, int64_t at) {
  if (type == CudnnDataType::kF32) return static_cast<double>(static_cast<const float*>(data)[at]);
  const uint16_t bits = static_cast<const uint16_t*>(data)[at];
  return type == CudnnDataType::kF16 ? hone::cuda::testing::f16_number(bits)
                                     : hone::cuda::testing::bf16_number(bits);
}
void store(void* data, CudnnDataType type, int64_t at, double value) {
  const auto x = static_cast<float>(value);
  if (type == CudnnDataType::kF32)
    static_cast<float*>(data)[at] = x;
  else
    static_cast<uint16_t*>(data)[at] =
        type == CudnnDataType::kF16 ? hone::cuda::testing::f16_bits(x) : hone::cuda::testing::bf16_bits(x);
}

namespace {

std::vector<double> numbers(const ProgramRun& run, const TensorView& tensor) {
  std::vector<double> all(static_cast<size_t>(tensor.count()));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = load(run.at.at(tensor.uid), tensor.type, static_cast<int64_t>(i));
  return all;
}

// Calls visit(x's offset, y's offset, w's offset) for each product of an image and a filter, channels aside.
template <typename Visit>
void each_tap(const ConvolutionView& c, Visit&& visit) {
  const size_t axes = c.strides.size();
  std::vector<int64_t> at(2 * axes, 0);  // of y's axes, then of w's
  const auto extent = [&](size_t i) { return i < axes ? c.y.extents[i + 2] : c.w.extents[i - axes + 2]; };
  for (;;) {
    int64_t x = 0, y = 0, w = 0;
    bool inside = true;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t place = at[i] * c.strides[i] + at[axes + i] * c.dilations[i] - c.pre[i];
      inside = inside && place >= 0 && place < c.x.extents[i + 2];
      x += place * c.x.strides[i + 2];
      y += at[i] * c.y.strides[i + 2];
      w += at[axes + i] * c.w.strides[i + 2];
    }
    if (inside) visit(x, y, w);
    size_t i = 2 * axes;
    while (i > 0 && ++at[i - 1] == extent(i - 1)) at[--i] = 0;
    if (i == 0) return;
  }
}

// Where products are added, and the two numbers of each: offsets in the result, and in what is given.
template <typename Product>
void each_product(const ConvolutionView& c, Product&& product) {
  const int64_t a_group = c.w.extents[0] / c.groups(), channels = c.w.extents[1];
  each_tap(c, [&](int64_t x_at, int64_t y_at, int64_t w_at) {
    for (int64_t n = 0; n < c.x.extents[0]; ++n) {
      for (int64_t k = 0; k < c.w.extents[0]; ++k) {
        const int64_t y = n * c.y.strides[0] + k * c.y.strides[1] + y_at;
        const int64_t x = n * c.x.strides[0] + (k / a_group) * channels * c.x.strides[1] + x_at;
        const int64_t w = k * c.w.strides[0] + w_at;
        for (int64_t i = 0; i < channels; ++i)
          product(static_cast<size_t>(x + i * c.x.strides[1]), static_cast<size_t>(y),
                  static_cast<size_t>(w + i * c.w.strides[1]));
      }
    }
  });
}

// The convolution's result, in the places where it lies: forward from x, backward from y, of the weights from both.
std::vector<double> convolve(const ProgramRun& run) {
  const ConvolutionView& c = run.program.convolution();
  std::vector<double> result(static_cast<size_t>(run.program.convolution().weight_gradient ? c.w.count()
                                                 : c.backward                              ? c.x.count()
                                                                                           : c.y.count()),
                             0.0);
  if (c.weight_gradient) {
    std::vector<double> x = numbers(run, c.x), y = numbers(run, c.y);
    if (run.tf32)
      for (std::vector<double>* factors : {&x, &y})
        for (double& number : *factors) number = testing::tf32_number(number);
    each_product(c, [&](size_t at_x, size_t at_y, size_t at_w) { result[at_w] += x[at_x] * y[at_y]; });
    return result;
  }
  std::vector<double> w = numbers(run, c.w), given = numbers(run, c.backward ? c.y : c.x);
  if (run.tf32)
    for (std::vector<double>* factors : {&w, &given})
      for (double& x : *factors) x = testing::tf32_number(x);
  each_product(c, [&](size_t at_x, size_t at_y, size_t at_w) {
    if (c.backward)
      result[at_x] += w[at_w] * given[at_y];
    else
      result[at_y] += w[at_w] * given[at_x];
  });
  return result;
}

double function_of(const Step& step, double x) {
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (step.mode) {
    case CudnnPointwise::kRelu:
      return std::min(x > step.low ? x : step.low + step.slope * (x - step.low), step.high);
    case CudnnPointwise::kTanh:
      return std::tanh(x);
    case CudnnPointwise::kSigmoid:
      return sigmoid(x);
    case CudnnPointwise::kElu:
      return x > 0 ? x : step.elu * (std::exp(x) - 1);
    case CudnnPointwise::kGeluErf:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case CudnnPointwise::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case CudnnPointwise::kSoftplus:
      return std::log1p(std::exp(step.softplus * x)) / step.softplus;
    case CudnnPointwise::kSwish:
      return x * sigmoid(step.swish * x);
    default:
      return x;
  }
}

// Where an element of `y` is in `b`, whose extents may be 1.
int64_t offset_in(const TensorView& b, const TensorView& y, int64_t element) {
  int64_t at = 0;
  std::vector<size_t> axes(y.extents.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  std::sort(axes.begin(), axes.end(), [&](size_t p, size_t q) {
    return y.strides[p] != y.strides[q] ? y.strides[p] > y.strides[q] : y.extents[p] > y.extents[q];
  });
  for (const size_t axis : axes) {
    const int64_t place = y.extents[axis] == 1 ? 0 : element / y.strides[axis];
    if (y.extents[axis] > 1) element %= y.strides[axis];
    if (b.extents[axis] > 1) at += place * b.strides[axis];
  }
  return at;
}

// Rows as they lie: not packed, perhaps, within wider ones.
void attend(const ProgramRun& run) {
  const AttentionView& a = *run.program.attention;
  const auto element = [&](const TensorView& t, int64_t b, int64_t h, int64_t row, int64_t column) {
    return load(run.at.at(t.uid), t.type, b * t.strides[0] + h * t.strides[1] + row * t.strides[2] + column);
  };
  const int64_t keys = a.k.extents[2], queries_a_head = a.q.extents[1] / a.k.extents[1];
  std::vector<double> weights(static_cast<size_t>(keys));
  for (int64_t b = 0; b < a.q.extents[0]; ++b) {
    for (int64_t h = 0; h < a.q.extents[1]; ++h) {
      for (int64_t row = 0; row < a.q.extents[2]; ++row) {
        double largest = -INFINITY, sum = 0;
        for (int64_t key = 0; key < keys; ++key) {
          double score = 0;
          for (int64_t i = 0; i < a.q.extents[3]; ++i)
            score += element(a.q, b, h, row, i) * element(a.k, b, h / queries_a_head, key, i);
          weights[static_cast<size_t>(key)] = score * static_cast<double>(run.by_value.at(a.scale.uid));
          largest = std::max(largest, weights[static_cast<size_t>(key)]);
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (int64_t i = 0; i < a.v.extents[3]; ++i) {
          double value = 0;
          for (int64_t key = 0; key < keys; ++key)
            value += weights[static_cast<size_t>(key)] * element(a.v, b, h / queries_a_head, key, i);
          store(run.at.at(a.o.uid), a.o.type,
                b * a.o.strides[0] + h * a.o.strides[1] + row * a.o.strides[2] + i,
                run.wrong ? std::nan("") : value / sum);
        }
      }
    }
  }
}

}  // namespace

void ProgramRun::compute() const {
  if (program.attention) return attend(*this);
  if (program.composition) return compute_composition(*this);
  const TensorView& y = program.result();
  std::vector<double> values = convolve(*this);
  for (const Step& step : program.steps) {
    const std::vector<double> b = step.b ? numbers(*this, *step.b) : std::vector<double>();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(static_cast<float>(values[i]));
      const double operand =
          step.b ? b[static_cast<size_t>(offset_in(*step.b, y, static_cast<int64_t>(i)))] : 0;
      values[i] = step.mode == CudnnPointwise::kAdd   ? x + operand
                  : step.mode == CudnnPointwise::kMul ? x * operand
                                                      : function_of(step, x);
    }
  }
  for (size_t i = 0; i < values.size(); ++i)
    store(at.at(y.uid), y.type, static_cast<int64_t>(i), wrong ? std::nan("") : values[i]);
}

}  // namespace hone::cuda::fake_cudnn
