// What CUDA C++ has that C++ has not, as C++ of the host: put before a kernel's source, it makes the source one for the
// compiler of the host. A block's threads are fibers that change at barriers alone, in an order that changes with them,
// so that what needs a barrier and has none is wrong every time. Proves what kernels compute where there is no GPU.
#pragma once

namespace hone::cuda::testing {

inline constexpr const char* kHostCuda = R"(
#define HONE_ON_HOST
// C's headers, and CUDA's overloads of their functions below: <cmath> takes half as long again as a kernel to compile.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define HONE_OF_ONE(name) static inline float name(float x) { return __builtin_##name##f(x); }
#define HONE_OF_TWO(name) static inline float name(float x, float y) { return __builtin_##name##f(x, y); }
HONE_OF_ONE(sqrt) HONE_OF_ONE(cbrt) HONE_OF_ONE(fabs) HONE_OF_ONE(floor) HONE_OF_ONE(ceil) HONE_OF_ONE(trunc) HONE_OF_ONE(round)
HONE_OF_ONE(rint) HONE_OF_ONE(exp) HONE_OF_ONE(exp2) HONE_OF_ONE(expm1) HONE_OF_ONE(log) HONE_OF_ONE(log2) HONE_OF_ONE(log10)
HONE_OF_ONE(log1p) HONE_OF_ONE(sin) HONE_OF_ONE(cos) HONE_OF_ONE(tan) HONE_OF_ONE(asin) HONE_OF_ONE(acos) HONE_OF_ONE(atan)
HONE_OF_ONE(sinh) HONE_OF_ONE(cosh) HONE_OF_ONE(tanh) HONE_OF_ONE(asinh) HONE_OF_ONE(acosh) HONE_OF_ONE(atanh) HONE_OF_ONE(erf)
HONE_OF_TWO(pow) HONE_OF_TWO(fmod) HONE_OF_TWO(copysign) HONE_OF_TWO(fmin) HONE_OF_TWO(fmax) HONE_OF_TWO(atan2)
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
#define HONE_FUNCTION inline
#define __global__
#define __device__ static
#define __shared__ static
#define __launch_bounds__(...)
struct Place { unsigned x = 0, y = 0, z = 0; };
static Place blockIdx, threadIdx, blockDim, gridDim;
static inline float hone_float_of_bits(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned hone_bits_of_float(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float hone_from_f16(unsigned short x) { _Float16 y; memcpy(&y, &x, 2); return (float)y; }
static inline unsigned short hone_to_f16(float x) { const _Float16 y = (_Float16)x; unsigned short z; memcpy(&z, &y, 2); return z; }
template <typename T> static inline T atomicCAS(T* at, T expected, T wanted) {
  const T before = *at;
  if (before == expected) *at = wanted;
  return before;
}
template <typename T> static inline T atomicMax(T* at, T x) { const T before = *at; if (x > before) *at = x; return before; }
static inline void __threadfence() {}

// --- a block's threads ---
enum HoneFiberState { kHoneReady, kHoneAtBlock, kHoneAtWarp, kHoneDone };
constexpr unsigned kHoneMostThreads = 1024, kHoneStackBytes = 1 << 16;
struct HoneFiber {
  ucontext_t context;  // where it begins
  void* at[5];         // where it waits
  HoneFiberState state;
  bool begun;
  Place place;
};
static HoneFiber* hone_fibers[kHoneMostThreads];
static unsigned hone_made = 0, hone_count = 0;  // of a launch the first `hone_count` take part
static void* hone_scheduler[5];
static unsigned hone_running = 0;
static void (*hone_body)(void*);
static void* hone_body_data;
static unsigned char hone_slots[kHoneMostThreads][16];

// Not swapcontext, which asks the kernel for the mask of signals each time: tests change fibers many million times. Each
// is a function of which the compiler knows nothing (noipa): it would take what others write meanwhile for unchanged.
__attribute__((noinline, noipa)) static void hone_jump(void** to) { __builtin_longjmp(to, 1); }
__attribute__((noinline, noipa)) static void hone_enter(HoneFiber& fiber) {
  if (__builtin_setjmp(hone_scheduler) != 0) return;
  if (fiber.begun) hone_jump(fiber.at);
  fiber.begun = true;
  setcontext(&fiber.context);
}
__attribute__((noinline, noipa)) static void hone_leave(HoneFiber& fiber) {
  if (__builtin_setjmp(fiber.at) == 0) hone_jump(hone_scheduler);
}
static void hone_wait(HoneFiberState at) {
  HoneFiber& self = *hone_fibers[hone_running];
  self.state = at;
  hone_leave(self);
}
// A fiber is a thread of each block in turn.
static void hone_begin_fiber() {
  for (;;) {
    hone_body(hone_body_data);
    hone_wait(kHoneDone);
  }
}
static void hone_make_fibers(unsigned count) {
  if (count > kHoneMostThreads) fprintf(stderr, "a block of %u threads\n", count), abort();
  for (; hone_made < count; ++hone_made) {
    HoneFiber* const fiber = (HoneFiber*)malloc(sizeof(HoneFiber) + kHoneStackBytes);
    fiber->begun = false;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber + 1;
    fiber->context.uc_stack.ss_size = kHoneStackBytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, hone_begin_fiber, 0);
    hone_fibers[hone_made] = fiber;
  }
  hone_count = count;
}
__attribute__((destructor)) static void hone_free_fibers() {
  while (hone_made != 0) free(hone_fibers[--hone_made]);
}
static inline void __syncthreads() { hone_wait(kHoneAtBlock); }
static inline void __syncwarp(unsigned = 0xffffffffu) { hone_wait(kHoneAtWarp); }
template <typename T> static T hone_of_lane(T x, unsigned lane) {
  memcpy(hone_slots[hone_running], &x, sizeof x);
  __syncwarp();
  T y;
  memcpy(&y, hone_slots[hone_running / 32 * 32 + lane % 32], sizeof y);
  __syncwarp();
  return y;
}
template <typename T> static T __shfl_xor_sync(unsigned, T x, int mask) { return hone_of_lane(x, hone_running % 32 ^ (unsigned)mask); }
template <typename T> static T __shfl_sync(unsigned, T x, int lane) { return hone_of_lane(x, (unsigned)lane); }
template <typename T> static T __shfl_down_sync(unsigned, T x, int by) {
  const unsigned lane = hone_running % 32 + (unsigned)by;
  return hone_of_lane(x, lane < 32 ? lane : hone_running % 32);
}
template <typename T> static T __shfl_up_sync(unsigned, T x, int by) {
  const unsigned lane = hone_running % 32;
  return hone_of_lane(x, lane >= (unsigned)by ? lane - (unsigned)by : lane);
}

// mma.sync of m16n8k16, whose fragments are as PTX has them: Form says what a half of a register is.
template <typename Form> static void hone_host_mma(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  struct Held { unsigned low, high, b; };
  const unsigned first = hone_running / 32 * 32, g = hone_running % 32 / 4, t = hone_running % 4;
  const auto half = [](unsigned pair, int i) { return Form::held((unsigned short)(pair >> (16 * i))); };
  for (int part = 0; part < 2; ++part) {
    const Held own = {a[2 * part], a[2 * part + 1], part == 0 ? b0 : b1};
    memcpy(hone_slots[hone_running], &own, sizeof own);
    __syncwarp();
    for (unsigned from = 0; from < 4; ++from) {
      Held rows, left, right;
      memcpy(&rows, hone_slots[first + g * 4 + from], sizeof rows);
      memcpy(&left, hone_slots[first + t * 8 + from], sizeof left);
      memcpy(&right, hone_slots[first + t * 8 + 4 + from], sizeof right);
      for (int i = 0; i < 2; ++i) {
        c[0] += half(rows.low, i) * half(left.b, i);
        c[1] += half(rows.low, i) * half(right.b, i);
        c[2] += half(rows.high, i) * half(left.b, i);
        c[3] += half(rows.high, i) * half(right.b, i);
      }
    }
    __syncwarp();
  }
}

// Lets those go on who have all come: a warp's threads, or the block's. False: nobody can.
static bool hone_release() {
  const size_t count = hone_count;
  bool any = false, whole_block = true;
  for (size_t warp = 0; warp < count; warp += 32) {
    bool whole_warp = true;
    const size_t end = warp + 32 < count ? warp + 32 : count;
    for (size_t i = warp; i < end; ++i) {
      if (hone_fibers[i]->state != kHoneDone && hone_fibers[i]->state != kHoneAtWarp) whole_warp = false;
      if (hone_fibers[i]->state != kHoneDone && hone_fibers[i]->state != kHoneAtBlock) whole_block = false;
    }
    for (size_t i = warp; whole_warp && i < end; ++i)
      if (hone_fibers[i]->state == kHoneAtWarp) hone_fibers[i]->state = kHoneReady, any = true;
  }
  for (size_t i = 0; whole_block && i < count; ++i)
    if (hone_fibers[i]->state == kHoneAtBlock) hone_fibers[i]->state = kHoneReady, any = true;
  return any;
}

static void hone_run_fibers() {
  for (size_t i = 0; i < hone_count; ++i) hone_fibers[i]->state = kHoneReady;
  for (bool forth = true, going = true; going; forth = !forth) {
    bool done = true;
    for (size_t k = 0; k < hone_count; ++k) {
      const size_t i = forth ? k : hone_count - 1 - k;
      if (hone_fibers[i]->state == kHoneReady) {
        hone_running = (unsigned)i;
        threadIdx = hone_fibers[i]->place;
        hone_enter(*hone_fibers[i]);
      }
      done = done && hone_fibers[i]->state == kHoneDone;
    }
    going = !done;
    if (going && !hone_release()) {
      fprintf(stderr, "threads of a block wait at different barriers\n");
      abort();
    }
  }
}

// Runs `body` for each thread of the grid. With barriers threads are fibers; without, they run one after another.
template <typename Body> static void hone_run_grid(Place grid, Place block, bool barriers, Body body) {
  gridDim = grid;
  blockDim = block;
  hone_body = [](void* data) { (*(Body*)data)(); };
  hone_body_data = &body;
  if (barriers) hone_make_fibers(block.x * block.y * block.z);
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
        size_t i = 0;
        Place at;
        for (at.z = 0; at.z < block.z; ++at.z)
          for (at.y = 0; at.y < block.y; ++at.y)
            for (at.x = 0; at.x < block.x; ++at.x) {
              threadIdx = at;
              if (barriers) hone_fibers[i++]->place = at;
              else body();
            }
        if (barriers) hone_run_fibers();
      }
}

// --- launches as the driver has them: parameters by address ---
template <size_t... I> struct HoneIndices {};
template <size_t N, size_t... I> struct HoneCount : HoneCount<N - 1, N - 1, I...> {};
template <size_t... I> struct HoneCount<0, I...> { using Type = HoneIndices<I...>; };
template <typename... A, size_t... I>
static void hone_call(void (*kernel)(A...), void** parameters, HoneIndices<I...>) { kernel(*(A*)parameters[I]...); }
template <typename... A> static void hone_launch(void (*kernel)(A...), const unsigned* shape, bool barriers, void** parameters) {
  Place grid, block;
  grid.x = shape[0], grid.y = shape[1], grid.z = shape[2], block.x = shape[3], block.y = shape[4], block.z = shape[5];
  hone_run_grid(grid, block, barriers, [=] { hone_call(kernel, parameters, typename HoneCount<sizeof...(A)>::Type()); });
}
template <typename... A> static unsigned hone_sizes(void (*)(A...), size_t* sizes) {
  const size_t all[] = {sizeof(A)...};
  for (size_t i = 0; i < sizeof...(A); ++i) sizes[i] = all[i];
  return sizeof...(A);
}
)";

}  // namespace hone::cuda::testing
