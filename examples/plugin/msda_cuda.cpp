// The kernels for NVIDIA GPUs: CUDA C++ as text, which hone compiles for the GPU that is there. No CUDA is needed to build
// this file.
#include "msda.h"

namespace msda {
namespace {

constexpr uint32_t kThreads = 256;

// CHANNELS, WIDTH (channels a thread), HEADS, QUERIES, LEVELS and POINTS are defined by plan(), and the same for all layers of a
// model: divisions by them are products, loops over them unroll.
const char* const kSource = R"cuda(
struct alignas(4 * WIDTH) Channels { float at[WIDTH]; };

extern "C" __global__ void __launch_bounds__(256) msda(
    const float* __restrict__ value, const long long* __restrict__ shapes, const long long* __restrict__ starts,
    const float* __restrict__ locations, const float* __restrict__ weights, float* __restrict__ out,
    long long positions, long long threads,
    unsigned long long* fault, unsigned long long word) {
  const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
  if (i >= threads) return;
  const long long group = i % (CHANNELS / WIDTH), head = i / (CHANNELS / WIDTH);
  const long long h = head % HEADS, b = head / HEADS / QUERIES;
  const long long stride = HEADS * CHANNELS;
  Channels sum = {};
  for (int l = 0; l < LEVELS; ++l) {
    const long long height = shapes[2 * l], width = shapes[2 * l + 1], start = starts[l];
    if (height < 0 || width < 0 || start < 0 || height > positions || width > positions ||
        start > positions - height * width) {
      if (fault) atomicCAS(fault, 0ull, word);
      return;
    }
    const float* map = value + (b * positions + start) * stride + h * CHANNELS + group * WIDTH;
    for (int p = 0; p < POINTS; ++p) {
      const long long sample = (head * LEVELS + l) * POINTS + p;
      const float x = locations[2 * sample] * (float)width - 0.5f;
      const float y = locations[2 * sample + 1] * (float)height - 0.5f;
      const float left = floorf(x), top = floorf(y);
      if (!(left >= -1 && top >= -1 && left < (float)width && top < (float)height)) continue;
      const float weight = weights[sample];
      for (int corner = 0; corner < 4; ++corner) {
        const long long row = (long long)top + corner / 2, column = (long long)left + corner % 2;
        if (row < 0 || column < 0 || row >= height || column >= width) continue;
        const float share = (corner / 2 ? y - top : 1 - (y - top)) * (corner % 2 ? x - left : 1 - (x - left)) * weight;
        const Channels from = *(const Channels*)(map + (row * width + column) * stride);
        for (int c = 0; c < WIDTH; ++c) sum.at[c] += share * from.at[c];
      }
    }
  }
  *(Channels*)(out + head * CHANNELS + group * WIDTH) = sum;
}
)cuda";

int plan_with(const hone_node* node, int64_t width, hone_cuda_plan* plan, hone_error* error) {
  const Extents e = extents_of(node);
  const int64_t threads = e.batch * e.queries * e.heads * (e.channels / width);
  if (threads == 0) return hone_fail(error, "there is nothing to compute");
  hone_add_define(plan, "CHANNELS", e.channels);
  hone_add_define(plan, "WIDTH", width);
  hone_add_define(plan, "HEADS", e.heads);
  hone_add_define(plan, "QUERIES", e.queries);
  hone_add_define(plan, "LEVELS", e.levels);
  hone_add_define(plan, "POINTS", e.points);
  hone_launch* launch =
      hone_add_launch(plan, "msda", static_cast<uint32_t>((threads + kThreads - 1) / kThreads), kThreads);
  for (int i = 0; i < kInputs; ++i) hone_input_argument(launch, i);
  hone_output_argument(launch, 0);
  hone_integer_argument(launch, e.positions);
  hone_integer_argument(launch, threads);
  hone_fault_arguments(launch);
  plan->fault_text = "a level of value_spatial_shapes and value_level_start_index does not lie in value";
  return 0;
}

int accepts_any(const hone_node* node, hone_error* error) {
  return hone_count(node->outputs[0]) > 0 ? 0 : hone_fail(error, "the output is empty");
}
int plan_single(const hone_node* node, const hone_gpu*, hone_cuda_plan* plan, hone_error* error) {
  return plan_with(node, 1, plan, error);
}

int accepts_fours(const hone_node* node, hone_error* error) {
  if (accepts_any(node, error)) return 1;
  return extents_of(node).channels % 4 == 0 ? 0 : hone_fail(error, "a head's channels are no multiple of 4");
}
int plan_fours(const hone_node* node, const hone_gpu*, hone_cuda_plan* plan, hone_error* error) {
  return plan_with(node, 4, plan, error);
}

const hone_cuda_kernel kFours = {"four channels a thread", kSource, nullptr, 0, accepts_fours, plan_fours};
const hone_cuda_kernel kSingle = {"a channel a thread", kSource, nullptr, 0, accepts_any, plan_single};

}  // namespace

const hone_cuda_kernel* const kCudaKernels[kCudaKernelCount] = {&kFours, &kSingle};

}  // namespace msda
