// Optimizers as a user chooses them, and the nodes that one step of them takes. Moments are states of the graph
// ("adam.m.<parameter>"), updated in place by whoever runs it. SGD and Adam(W) are operators over many tensors
// (ops/optimizer.cpp); the others are ordinary nodes, which passes fuse.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

enum class OptimizerKind : uint8_t {
  kSgd,    // torch.optim.SGD, dampening 0
  kAdam,   // Kingma and Ba, ICLR 2015; weight decay is part of the gradient
  kAdamW,  // Loshchilov and Hutter, ICLR 2019; weight decay apart from it
  kLion,   // Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023
  kLamb,   // You et al., ICLR 2020
  kMuon,   // Jordan et al. 2024, as torch.optim.Muon; parameters that are no matrices: AdamW
};
std::span<const std::string_view> optimizer_names();  // in the order of the enumeration

// What some parameters, by name, have instead of the optimizer's own.
struct ParameterGroup {
  std::vector<std::string> match = {};  // patterns of names: '*' stands for any characters, '?' for one
  double rate = 1;                      // factor of the learning rate
  std::optional<double> weight_decay = {};
};

struct Optimizer {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double rate = 1e-3;     // at the schedule's peak
  double momentum = 0.9;  // kSgd: 0 has no velocity; kMuon: 0.95 is usual
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decay_vectors = true;  // false: no weight decay for parameters of rank 0 and 1 (biases, scales)
  std::vector<ParameterGroup> groups = {};  // the first that matches a parameter counts

  // Of kMuon's parameters that are no matrices.
  double vector_rate = 3e-4;
};

// Whether `name` fits `pattern` as a whole.
bool matches_pattern(const std::string& pattern, const std::string& name);

struct TrainedParameter {
  std::string name;
  ValueId value;     // an input of the graph: f32, or bf16
  ValueId wide;      // the same in f32: what is computed with
  ValueId gradient;  // f32
};

// What one update needs beside the parameters.
struct UpdateScalars {
  ValueId rate;              // f32[]
  ValueId updates;           // i64[]: made before
  ValueId scale = kNoValue;  // f32[]: of all gradients (clipping, the loss's scale); absent: 1
  ValueId skip = kNoValue;   // bool[]: nothing changes; the scale is NaN then; absent: never
  std::optional<uint64_t> rounding_seed = {};  // parameters are bf16, and rounded stochastically by it
};

// Adds the update of all parameters: their next values, in order. Moments become states.
std::vector<ValueId> emit_updates(GraphBuilder& builder, const Optimizer& optimizer,
                                  std::span<const TrainedParameter> parameters, const UpdateScalars& scalars);

// √Σ g² over all gradients: f32[].
ValueId emit_global_norm(GraphBuilder& builder, std::span<const TrainedParameter> parameters);
// min(1, most / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
ValueId emit_clip_scale(GraphBuilder& builder, ValueId norm, double most);

}  // namespace hone::graph
