// How the fake cuDNN reads a graph of operations.
#include "cuda/testing/fake_cudnn_graph.h"

#include <limits>
#include <set>

namespace hone::cuda::fake_cudnn {
namespace {

bool fits(const ConvolutionView& c) {
  const size_t axes = c.strides.size();
  if (axes < 2 || axes > 3 || c.dilations.size() != axes || c.pre.size() != axes || c.post.size() != axes)
    return false;
  for (const TensorView* tensor : {&c.x, &c.w, &c.y}) {
    if (tensor->extents.size() != axes + 2 || !tensor->is_packed()) return false;
  }
  if (c.x.extents[0] != c.y.extents[0] || c.y.extents[1] != c.w.extents[0] ||
      c.x.extents[1] % c.w.extents[1] != 0 || c.w.extents[0] % c.groups() != 0)
    return false;
  for (size_t i = 0; i < axes; ++i) {
    if (c.pre[i] < 0 || c.post[i] < 0 || c.strides[i] < 1 || c.dilations[i] < 1) return false;
    const int64_t room =
        c.x.extents[i + 2] + c.pre[i] + c.post[i] - (c.w.extents[i + 2] - 1) * c.dilations[i] - 1;
    if (room < 0 || room / c.strides[i] + 1 != c.y.extents[i + 2]) return false;
  }
  // Filters lie as images do.
  return c.x.channels_last() == c.y.channels_last() || c.x.extents[1] == 1 || c.y.extents[1] == 1;
}

// What the operations of each kind call their parts.
struct ConvolutionNames {
  Attribute window, x, w, y, alpha, beta;
};
ConvolutionNames names_of(Kind kind) {
  using enum CudnnAttribute;
  switch (kind) {
    case Kind::kConvolutionBackwardData:
      return {kBackwardDataConvolution, kBackwardDataDx,    kBackwardDataW,
              kBackwardDataDy,          kBackwardDataAlpha, kBackwardDataBeta};
    case Kind::kConvolutionBackwardFilter:
      return {kBackwardFilterConvolution, kBackwardFilterX,     kBackwardFilterDw,
              kBackwardFilterDy,          kBackwardFilterAlpha, kBackwardFilterBeta};
    default:
      return {kForwardConvolution, kForwardX, kForwardW, kForwardY, kForwardAlpha, kForwardBeta};
  }
}

std::optional<ConvolutionView> read_convolution(const Object& operation) {
  using enum CudnnAttribute;
  const ConvolutionNames names = names_of(operation.kind);
  const Object& window = operation.object(names.window);
  ConvolutionView c{.x = TensorView(operation.object(names.x)),
                    .w = TensorView(operation.object(names.w)),
                    .y = TensorView(operation.object(names.y)),
                    .backward = operation.kind == Kind::kConvolutionBackwardData,
                    .weight_gradient = operation.kind == Kind::kConvolutionBackwardFilter,
                    .dilations = window.all<int64_t>(kConvolutionDilations),
                    .strides = window.all<int64_t>(kConvolutionStrides),
                    .pre = window.all<int64_t>(kConvolutionPrePads),
                    .post = window.all<int64_t>(kConvolutionPostPads)};
  const bool plain = operation.one<float>(names.alpha) == 1 && operation.one<float>(names.beta) == 0;
  const bool known =
      window.one<int64_t>(kConvolutionSpatialAxes) == static_cast<int64_t>(c.strides.size()) &&
      window.one<CudnnDataType>(kConvolutionComputeType) == CudnnDataType::kF32 &&
      window.one<CudnnConvolutionMode>(kConvolutionMode) == CudnnConvolutionMode::kCrossCorrelation;
  if (!plain || !known || !fits(c)) return std::nullopt;
  return c;
}

// A second operand that lies as the result does, or has extents of 1.
bool broadcasts(const TensorView& b, const TensorView& y) {
  if (b.extents.size() != y.extents.size()) return false;
  for (size_t i = 0; i < b.extents.size(); ++i) {
    if (b.extents[i] != 1 && b.extents[i] != y.extents[i]) return false;
  }
  return true;
}

// [batch, heads, rows, columns], rows of whole elements.
std::optional<Program> read_attention(const Object& operation) {
  using enum CudnnAttribute;
  const AttentionView a{.q = TensorView(operation.object(kAttentionQ)),
                        .k = TensorView(operation.object(kAttentionK)),
                        .v = TensorView(operation.object(kAttentionV)),
                        .o = TensorView(operation.object(kAttentionO)),
                        .scale = TensorView(operation.object(kAttentionScale))};
  const auto &q = a.q.extents, &k = a.k.extents, &v = a.v.extents, &o = a.o.extents;
  for (const TensorView* tensor : {&a.q, &a.k, &a.v, &a.o}) {
    if (tensor->extents.size() != 4 || tensor->strides[3] != 1 || tensor->type != a.q.type)
      return std::nullopt;
  }
  const bool fit = q[0] == k[0] && q[0] == v[0] && q[0] == o[0] && q[1] == o[1] && k[1] == v[1] &&
                   q[1] % k[1] == 0 && q[2] == o[2] && k[2] == v[2] && q[3] == k[3] && v[3] == o[3];
  if (!fit || !a.scale.by_value || a.scale.type != CudnnDataType::kF32) return std::nullopt;
  return Program{.convolved = {}, .steps = {}, .attention = a, .memory = {a.q, a.k, a.v, a.o, a.scale}};
}

}  // namespace

std::optional<Program> read_program(const Object& graph) {
  using enum CudnnAttribute;
  const auto operations = graph.all<const Object*>(kGraphOperations);
  if (operations[0]->kind == Kind::kAttention)
    return operations.size() == 1 ? read_attention(*operations[0]) : std::nullopt;
  if (std::any_of(operations.begin(), operations.end(),
                  [](const Object* each) { return each->kind == Kind::kProductOperation; }))
    return read_composition(operations);
  const auto convolution =
      is_operation(operations[0]->kind) && operations[0]->kind != Kind::kPointwiseOperation
          ? read_convolution(*operations[0])
          : std::nullopt;
  if (!convolution) return std::nullopt;
  Program program{.convolved = *convolution, .steps = {}, .attention = {}, .memory = {}};
  const ConvolutionView& c = program.convolution();
  if (c.weight_gradient && operations.size() > 1) return std::nullopt;
  program.memory = {c.backward ? c.y : c.x, c.weight_gradient ? c.y : c.w};
  const ConvolutionNames names = names_of(operations[0]->kind);
  const Object* given = &operations[0]->object(c.backward ? names.x : names.y);
  for (size_t i = 1; i < operations.size(); ++i) {
    const Object& operation = *operations[i];
    if (operation.kind != Kind::kPointwiseOperation || &operation.object(kPointwiseX) != given ||
        !TensorView(*given).is_virtual)
      return std::nullopt;
    const Object& function = operation.object(kPointwiseDescriptor);
    Step step{.mode = function.one<CudnnPointwise>(kPointwiseMode),
              .low = function.one<double>(kReluLowerClip, 0),
              .high = function.one<double>(kReluUpperClip, std::numeric_limits<double>::infinity()),
              .slope = function.one<double>(kReluLowerSlope, 0),
              .elu = function.one<double>(kEluAlpha, 1),
              .softplus = function.one<double>(kSoftplusBeta, 1),
              .swish = function.one<double>(kSwishBeta, 1),
              .b = {},
              .y = TensorView(operation.object(kPointwiseY))};
    const bool binary = step.mode == CudnnPointwise::kAdd || step.mode == CudnnPointwise::kMul;
    if (binary != operation.has(kPointwiseB) || step.y.extents != program.result().extents ||
        step.y.strides != program.result().strides)
      return std::nullopt;
    if (binary) {
      step.b = TensorView(operation.object(kPointwiseB));
      if (step.b->is_virtual || !broadcasts(*step.b, step.y)) return std::nullopt;
      program.memory.push_back(*step.b);
    }
    given = &operation.object(kPointwiseY);
    program.steps.push_back(std::move(step));
  }
  if (program.result().is_virtual) return std::nullopt;
  program.memory.push_back(program.result());
  std::set<int64_t> uids;
  for (const TensorView& tensor : program.memory) {
    if (!uids.insert(tensor.uid).second) return std::nullopt;
  }
  return program;
}

}  // namespace hone::cuda::fake_cudnn
