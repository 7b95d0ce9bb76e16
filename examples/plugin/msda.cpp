// A plugin for hone: multi-scale deformable attention (Deformable DETR, Mask2Former), as mmdeploy exports it to ONNX.
//
// mmdeploy::MMCVMultiScaleDeformableAttention
//   value               f32[B, S, H, D]         feature maps of L levels, one after another: S = Σ height · width
//   spatial_shapes      i64[L, 2]               height and width of each level
//   level_start_index   i64[L]                  where each begins in S
//   sampling_locations  f32[B, Q, H, L, P, 2]   x and y in [0, 1] of the level's map
//   attention_weights   f32[B, Q, H, L, P]
//   →                   f32[B, Q, H · D]        Σ over levels and points of weight · value, read bilinearly, 0 outside
//
// Build:  c++ -O3 -march=native -shared -fPIC -I PREFIX/include -o libmsda.so msda.cpp msda_cuda.cpp
// Use:    hone lab model.onnx --plugin libmsda.so
//
// What it does by itself is in four parts, top down: types, cost, kernels for the CPU, and the table at the end. The kernels
// for GPUs are in msda_cuda.cpp.
#include "msda.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace msda {
namespace {

// --- types ---------------------------------------------------------------------------------------------------------

int expect(const hone_node* node, int input, int rank, int32_t dtype, hone_error* error) {
  const hone_tensor* tensor = node->inputs[input];
  if (tensor->dtype != dtype)
    return hone_fail(error, "%s must be %s", kInputNames[input], dtype == HONE_F32 ? "f32" : "i64");
  if (tensor->rank >= 0 && tensor->rank != rank)
    return hone_fail(error, "%s has rank %d, not %d", kInputNames[input], static_cast<int>(tensor->rank),
                     rank);
  return 0;
}

// An extent of an input, or -1 where its rank is not known.
int64_t extent(const hone_node* node, int input, int axis) {
  return node->inputs[input]->rank < 0 ? -1 : node->inputs[input]->shape[axis];
}

// Extents that must be equal, where both are known.
int expect_equal(const hone_node* node, int a, int axis_a, int b, int axis_b, hone_error* error) {
  const int64_t one = extent(node, a, axis_a), other = extent(node, b, axis_b);
  if (one < 0 || other < 0 || one == other) return 0;
  return hone_fail(error, "%s has %lld along axis %d, %s has %lld along axis %d", kInputNames[a],
                   static_cast<long long>(one), axis_a, kInputNames[b], static_cast<long long>(other),
                   axis_b);
}

int infer(const hone_node* node, hone_tensor_type* outputs, hone_error* error) {
  const int ranks[] = {4, 2, 1, 6, 5};
  for (int i = 0; i < kInputs; ++i)
    if (expect(node, i, ranks[i], i == kShapes || i == kStarts ? HONE_I64 : HONE_F32, error)) return 1;
  const int equal[][4] = {
      {kValue, 0, kLocations, 0},   {kValue, 2, kLocations, 2}, {kValue, 0, kWeights, 0},
      {kLocations, 1, kWeights, 1}, {kValue, 2, kWeights, 2},   {kLocations, 3, kWeights, 3},
      {kLocations, 4, kWeights, 4}, {kShapes, 0, kWeights, 3},  {kStarts, 0, kWeights, 3}};
  for (const auto& [a, axis_a, b, axis_b] : equal)
    if (expect_equal(node, a, axis_a, b, axis_b, error)) return 1;
  const int64_t heads = extent(node, kValue, 2), channels = extent(node, kValue, 3);
  outputs[0].dtype = HONE_F32;
  outputs[0].rank = 3;
  outputs[0].shape[0] = extent(node, kValue, 0);
  outputs[0].shape[1] = extent(node, kLocations, 1);
  outputs[0].shape[2] = heads < 0 || channels < 0 ? -1 : heads * channels;
  return 0;
}

// --- cost ----------------------------------------------------------------------------------------------------------

int cost(const hone_node* node, hone_cost* cost, hone_error*) {
  const Extents e = extents_of(node);
  const double samples = static_cast<double>(e.batch) * e.queries * e.heads * e.levels * e.points;
  const double corners = 4;
  // Four corners, each a multiply-add a channel; their weights once a sample.
  cost->flops = samples * (2 * corners * e.channels + 16);
  // Of the feature maps no more is read than the samples touch.
  const double maps = 4.0 * e.batch * e.positions * e.heads * e.channels;
  cost->bytes_read += std::min(maps, samples * corners * e.channels * 4) - maps;
  return 0;
}

// --- kernels for the CPU -------------------------------------------------------------------------------------------

// What is wrong with the data: levels that do not lie in the feature maps would be read out of bounds.
int check_levels(const hone_node* node, const Extents& e, hone_error* error) {
  const auto* shapes = static_cast<const int64_t*>(node->inputs[kShapes]->data);
  const auto* starts = static_cast<const int64_t*>(node->inputs[kStarts]->data);
  for (int64_t l = 0; l < e.levels; ++l) {
    const int64_t height = shapes[2 * l], width = shapes[2 * l + 1], start = starts[l];
    if (height < 0 || width < 0 || start < 0 || height > e.positions || width > e.positions ||
        start > e.positions - height * width)
      return hone_fail(error, "level %lld, %lld x %lld from position %lld, does not lie in %lld positions",
                       static_cast<long long>(l), static_cast<long long>(height),
                       static_cast<long long>(width), static_cast<long long>(start),
                       static_cast<long long>(e.positions));
  }
  return 0;
}

struct Corner {
  int64_t position;  // in the level's map
  float weight;
};

// The corners around a location that lie in the map. Returns how many.
int corners_of(float x, float y, int64_t width, int64_t height, float weight, Corner corners[4]) {
  const float left = std::floor(x), top = std::floor(y);
  // Also not a number, and what is no int64_t.
  if (!(left >= -1 && top >= -1 && left < static_cast<float>(width) && top < static_cast<float>(height)))
    return 0;
  const auto column = static_cast<int64_t>(left), row = static_cast<int64_t>(top);
  const float right = x - left, below = y - top;
  int count = 0;
  const auto add = [&](int64_t r, int64_t c, float share) {
    if (r >= 0 && r < height && c >= 0 && c < width) corners[count++] = {r * width + c, share * weight};
  };
  add(row, column, (1 - below) * (1 - right));
  add(row, column + 1, (1 - below) * right);
  add(row + 1, column, below * (1 - right));
  add(row + 1, column + 1, below * right);
  return count;
}

// to[0 … n) += weight · from[0 … n): the loop that compilers vectorise.
void add_scaled(float* __restrict to, const float* __restrict from, float weight, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += weight * from[i];
}

// One head of one query.
void attend(const hone_node* node, const Extents& e, int64_t b, int64_t q, int64_t h) {
  const auto* value = static_cast<const float*>(node->inputs[kValue]->data);
  const auto* shapes = static_cast<const int64_t*>(node->inputs[kShapes]->data);
  const auto* starts = static_cast<const int64_t*>(node->inputs[kStarts]->data);
  const int64_t head = (b * e.queries + q) * e.heads + h;
  const int64_t samples = e.levels * e.points;
  const float* location = static_cast<const float*>(node->inputs[kLocations]->data) + head * samples * 2;
  const float* weight = static_cast<const float*>(node->inputs[kWeights]->data) + head * samples;
  float* out = static_cast<float*>(node->outputs[0]->data) + head * e.channels;
  std::fill(out, out + e.channels, 0.0F);
  const int64_t stride = e.heads * e.channels;
  for (int64_t l = 0; l < e.levels; ++l) {
    const int64_t height = shapes[2 * l], width = shapes[2 * l + 1];
    const float* map = value + (b * e.positions + starts[l]) * stride + h * e.channels;
    for (int64_t p = 0; p < e.points; ++p, location += 2, ++weight) {
      Corner corners[4];
      const int count =
          corners_of(location[0] * static_cast<float>(width) - 0.5F,
                     location[1] * static_cast<float>(height) - 0.5F, width, height, *weight, corners);
      for (int i = 0; i < count; ++i)
        add_scaled(out, map + corners[i].position * stride, corners[i].weight, e.channels);
    }
  }
}

struct Work {
  const hone_node* node;
  Extents extents;
};

// Heads of a query lie side by side in the maps: neighbours share cache lines.
void query_by_query(void* context, int64_t begin, int64_t end, int32_t) {
  const auto& [node, e] = *static_cast<const Work*>(context);
  for (int64_t i = begin; i < end; ++i)
    attend(node, e, i / (e.queries * e.heads), i / e.heads % e.queries, i % e.heads);
}

// One head's maps may stay in a cache that all heads' do not fit.
void head_by_head(void* context, int64_t begin, int64_t end, int32_t) {
  const auto& [node, e] = *static_cast<const Work*>(context);
  for (int64_t i = begin; i < end; ++i)
    attend(node, e, i / (e.queries * e.heads), i % e.queries, i / e.queries % e.heads);
}

int run_split(const hone_node* node, const hone_cpu_call* call, hone_body body, hone_error* error) {
  Work work = {node, extents_of(node)};
  if (check_levels(node, work.extents, error)) return 1;
  const Extents& e = work.extents;
  const int64_t flops = std::max<int64_t>(1, e.levels * e.points * e.channels * 8);
  const int64_t grain = 1 + 20000 / flops;  // some microseconds: fewer are not worth a thread
  call->parallel(call, e.batch * e.queries * e.heads, grain, body, &work);
  return 0;
}

int run_query_by_query(const hone_node* node, const hone_cpu_call* call, hone_error* error) {
  return run_split(node, call, query_by_query, error);
}
int run_head_by_head(const hone_node* node, const hone_cpu_call* call, hone_error* error) {
  return run_split(node, call, head_by_head, error);
}

// The definition, in double precision and one channel at a time: what the others are compared with.
int run_reference(const hone_node* node, const hone_cpu_call*, hone_error* error) {
  const Extents e = extents_of(node);
  if (check_levels(node, e, error)) return 1;
  const auto* value = static_cast<const float*>(node->inputs[kValue]->data);
  const auto* shapes = static_cast<const int64_t*>(node->inputs[kShapes]->data);
  const auto* starts = static_cast<const int64_t*>(node->inputs[kStarts]->data);
  const auto* locations = static_cast<const float*>(node->inputs[kLocations]->data);
  const auto* weights = static_cast<const float*>(node->inputs[kWeights]->data);
  auto* out = static_cast<float*>(node->outputs[0]->data);
  for (int64_t i = 0; i < e.batch * e.queries * e.heads * e.channels; ++i) {
    const int64_t channel = i % e.channels, head = i / e.channels;
    const int64_t h = head % e.heads, b = head / e.heads / e.queries;
    double sum = 0;
    for (int64_t sample = 0; sample < e.levels * e.points; ++sample) {
      const int64_t l = sample / e.points, at = head * e.levels * e.points + sample;
      const int64_t height = shapes[2 * l], width = shapes[2 * l + 1];
      const double x = static_cast<double>(locations[2 * at]) * static_cast<double>(width) - 0.5;
      const double y = static_cast<double>(locations[2 * at + 1]) * static_cast<double>(height) - 0.5;
      if (!(x > -1 && y > -1 && x < static_cast<double>(width) && y < static_cast<double>(height))) continue;
      for (int corner = 0; corner < 4; ++corner) {
        const double row = std::floor(y) + corner / 2, column = std::floor(x) + corner % 2;
        if (row < 0 || column < 0 || row >= static_cast<double>(height) ||
            column >= static_cast<double>(width))
          continue;
        const int64_t position = starts[l] + static_cast<int64_t>(row) * width + static_cast<int64_t>(column);
        const double share =
            (1 - std::abs(y - row)) * (1 - std::abs(x - column)) * static_cast<double>(weights[at]);
        sum += share * static_cast<double>(
                           value[((b * e.positions + position) * e.heads + h) * e.channels + channel]);
      }
    }
    out[i] = static_cast<float>(sum);
  }
  return 0;
}

// --- the table -----------------------------------------------------------------------------------------------------

// Members in the order of hone/plugin.h, so that C++11 compilers take it, too; in C99 and C++20 write `.name = …`.
const hone_cpu_kernel kReference = {"definition", nullptr, nullptr, run_reference};
const hone_cpu_kernel kQueryByQuery = {"query by query", nullptr, nullptr, run_query_by_query};
const hone_cpu_kernel kHeadByHead = {"head by head", nullptr, nullptr, run_head_by_head};
const hone_cpu_kernel* const kCpuKernels[] = {&kQueryByQuery, &kHeadByHead};

const hone_attribute_spec kAttributes[] = {
    {"im2col_step", HONE_ATTRIBUTE_INT,
     0},  // how mmcv's kernel splits its work: nothing that numbers depend on
};

const hone_operator kOperator = {
    "mmdeploy",
    "MMCVMultiScaleDeformableAttention",
    1,
    "multi-scale deformable attention: a few bilinear samples of several feature maps for each query",
    kInputs,
    kInputs,
    1,
    1,
    0,  // no input is optional
    HONE_PURE,
    kAttributes,
    1,
    infer,
    cost,
    &kReference,
    kCpuKernels,
    2,
    kCudaKernels,
    kCudaKernelCount,
};
const hone_operator* const kOperators[] = {&kOperator};
const hone_plugin kPlugin = {HONE_PLUGIN_ABI, "msda", "1.0.0", kOperators, 1};

}  // namespace
}  // namespace msda

extern "C" const hone_plugin* hone_plugin_entry(void) { return &msda::kPlugin; }
