// What a rank did with each row of the operator table: how often, how long, with which inputs, in which
// arithmetic, and how long its roofs say that it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/busy/operator_inputs.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// What is known of an operator row on this rank.
struct OperatorUse {
  double executions = 0;  // that launched works
  double work_ns = 0;
  double computing_ns = 0;  // of its works, without those that only convert the layout
  uint32_t works = 0;
  // For one execution, in the narrowest arithmetic that its work is done with; 0: unknown.
  double floor_ns = 0;
  // The same in the arithmetic that is advised next: that of enough_math().
  double enough_ns = 0;
  double roof_ns = 0;  // of one execution, by the arithmetic that ran
  KernelMath math = KernelMath::kBf16;
  bool is_product = false;  // matrix product or convolution
  bool memory_bound = false;
  double largest_input = 0;  // elements of its largest input
  double elements = 0;       // of the tensor it goes over: that input, or what pointwise inputs broadcast to
  Inputs inputs;
};

struct OperatorUses {
  std::vector<OperatorUse> rows;  // as the operator table
  // Most of the products' arithmetic is in 16 or 8 bits: f32 ones among them are leaks.
  bool mostly_narrow = false;

  // The share of its operator's floor and roof that a work has, in executions; the work must have an
  // operator, and must not only convert the layout.
  double part(const Work& work) const;
};

OperatorUses uses_of(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs);

bool is_16_bit(KernelMath math);
bool is_8_bit(KernelMath math);
// The arithmetic that training and inference do with: f64 is a leak, f32 products run as tf32, those in tf32
// in bf16, and where most products are in 16 bits all are.
KernelMath enough_math(KernelMath math, const GpuRoofs& roofs, bool mostly_narrow);
// Where that leads to, step by step: what floors are counted in, so that they stay when arithmetic changes.
KernelMath narrowest_math(KernelMath math, const GpuRoofs& roofs);

// Nanoseconds for an amount at a rate; 0 where the rate is not known.
double ns_at(double amount, double per_second);

}  // namespace hone::analyze::device
