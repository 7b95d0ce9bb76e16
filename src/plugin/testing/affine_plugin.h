// A plugin in memory for tests, whose parts a test may change before it is described: test.Affine,
// y[r, c] = alpha · x[r, c] + bias[c], with two kernels for the CPU (one takes scratch and threads, one only few columns) and
// one for GPUs.
#pragma once

#include <stdexcept>

#include "hone/plugin.h"

#include "graph/builder.h"
#include "plugin/plugin.h"

namespace hone::plugin::testing {

// What its kernels were last told.
struct AffineSeen {
  int threads = 0;
  int runs = 0;
};

struct AffinePlugin {
  // Changed by kernels, which have nowhere else to put it.
  static AffineSeen& seen() {
    static AffineSeen one;
    return one;
  }

  static int infer(const hone_node* node, hone_tensor_type* outputs, hone_error* error) {
    const hone_tensor* const x = node->inputs[0];
    if (x->dtype != HONE_F32) return hone_fail(error, "x must be f32");
    if (x->rank != 2) return hone_fail(error, "x has rank %d, not 2", static_cast<int>(x->rank));
    outputs[0] = hone_type_of(x);
    return 0;
  }
  static int cost(const hone_node* node, hone_cost* cost, hone_error*) {
    cost->flops = 2.0 * static_cast<double>(hone_count(node->outputs[0]));
    return 0;
  }

  static float bias_at(const hone_node* node, int64_t column) {
    if (node->input_count < 2 || node->inputs[1] == nullptr) return 0;
    return static_cast<const float*>(node->inputs[1]->data)[column];
  }
  static int run_plain(const hone_node* node, const hone_cpu_call*, hone_error* error) {
    const auto* x = static_cast<const float*>(node->inputs[0]->data);
    auto* y = static_cast<float*>(node->outputs[0]->data);
    const int64_t columns = node->inputs[0]->shape[1];
    const auto alpha = static_cast<float>(hone_real(node, "alpha", 1));
    for (int64_t i = 0; i < hone_count(node->outputs[0]); ++i) {
      if (x[i] > 1e6F) return hone_fail(error, "x[%d] is %g", static_cast<int>(i), static_cast<double>(x[i]));
      y[i] = alpha * x[i] + bias_at(node, i % columns);
    }
    return 0;
  }
  static int accepts_few(const hone_node* node, hone_error* error) {
    return node->inputs[0]->shape[1] <= 64 ? 0 : hone_fail(error, "more than 64 columns");
  }

  // Rows by threads, each through its part of the scratch.
  static std::size_t scratch_of(const hone_node* node, int32_t threads) {
    return static_cast<std::size_t>(threads) * static_cast<std::size_t>(node->inputs[0]->shape[1]) * 4;
  }
  struct Rows {
    const hone_node* node;
    float* scratch;
  };
  static void some_rows(void* context, int64_t begin, int64_t end, int32_t thread) {
    const auto& [node, scratch] = *static_cast<const Rows*>(context);
    const auto* x = static_cast<const float*>(node->inputs[0]->data);
    auto* y = static_cast<float*>(node->outputs[0]->data);
    const int64_t columns = node->inputs[0]->shape[1];
    const auto alpha = static_cast<float>(hone_real(node, "alpha", 1));
    float* const row = scratch + thread * columns;
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t c = 0; c < columns; ++c) row[c] = alpha * x[r * columns + c];
      for (int64_t c = 0; c < columns; ++c) y[r * columns + c] = row[c] + bias_at(node, c);
    }
  }
  static int run_rows(const hone_node* node, const hone_cpu_call* call, hone_error*) {
    seen().threads = call->threads;
    ++seen().runs;
    Rows rows = {node, static_cast<float*>(call->scratch)};
    call->parallel(call, node->inputs[0]->shape[0], 1, some_rows, &rows);
    return 0;
  }

  // With a copy in scratch between two launches, and a fault.
  static constexpr const char* kSource = R"cuda(
extern "C" __global__ void affine_scale(const float* x, float* scratch, double alpha, long long count,
                                        unsigned long long* fault, unsigned long long word) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if (x[i] > 1e6f && fault) atomicCAS(fault, 0ull, word);
  scratch[i] = (float)alpha * x[i];
}
extern "C" __global__ void affine_add(const float* scratch, const float* bias, float* y, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = scratch[i] + (HAS_BIAS ? bias[i % COLUMNS] : 0.0f);
}
)cuda";
  static int plan(const hone_node* node, const hone_gpu*, hone_cuda_plan* plan, hone_error*) {
    const int64_t count = hone_count(node->outputs[0]);
    const auto blocks = static_cast<uint32_t>((count + 127) / 128);
    const bool has_bias = node->input_count > 1 && node->inputs[1] != nullptr;
    hone_add_define(plan, "HAS_BIAS", has_bias ? 1 : 0);
    hone_add_define(plan, "COLUMNS", node->inputs[0]->shape[1]);
    hone_launch* const scale = hone_add_launch(plan, "affine_scale", blocks, 128);
    hone_input_argument(scale, 0);
    hone_add_argument(scale, HONE_ARGUMENT_SCRATCH, 0, 0, 0);
    hone_real_argument(scale, hone_real(node, "alpha", 1));
    hone_integer_argument(scale, count);
    hone_fault_arguments(scale);
    hone_launch* const add = hone_add_launch(plan, "affine_add", blocks, 128);
    hone_add_argument(add, HONE_ARGUMENT_SCRATCH, 0, 0, 0);
    hone_input_argument(add, has_bias ? 1 : 0);
    hone_output_argument(add, 0);
    hone_integer_argument(add, count);
    plan->scratch_bytes = static_cast<uint64_t>(count) * 4;
    plan->fault_text = "x is too large";
    return 0;
  }

  hone_attribute_spec attributes[2] = {{"alpha", HONE_ATTRIBUTE_FLOAT, 0}, {"steps", HONE_ATTRIBUTE_INTS, 0}};
  hone_cpu_kernel plain = {"plain", accepts_few, nullptr, run_plain};
  hone_cpu_kernel rows = {"rows", nullptr, scratch_of, run_rows};
  const hone_cpu_kernel* cpu[2] = {&rows, &plain};
  hone_cuda_kernel gpu = {"two launches", kSource, nullptr, 0, nullptr, plan};
  const hone_cuda_kernel* cuda[1] = {&gpu};
  hone_operator affine = {.domain = "test",
                          .name = "Affine",
                          .since_version = 1,
                          .summary = "alpha x + bias",
                          .min_inputs = 1,
                          .max_inputs = 2,
                          .min_outputs = 1,
                          .max_outputs = 1,
                          .optional_inputs = 0,
                          .flags = HONE_PURE,
                          .attributes = attributes,
                          .attribute_count = 2,
                          .infer = infer,
                          .cost = cost,
                          .reference = nullptr,
                          .cpu_kernels = cpu,
                          .cpu_kernel_count = 2,
                          .cuda_kernels = cuda,
                          .cuda_kernel_count = 1};
  const hone_operator* operators[1] = {&affine};
  hone_plugin given = {HONE_PLUGIN_ABI, "affine", "1.0", operators, 1};

  AffinePlugin() = default;
  AffinePlugin(const AffinePlugin&) = delete;  // its parts point at each other
  AffinePlugin& operator=(const AffinePlugin&) = delete;

  Result<graph::CustomOperators> describe(std::string_view content = "content") const {
    return describe_plugin(given, "libaffine.so", content);
  }
  std::shared_ptr<const graph::CustomOperator> described() const {
    auto operators_ = describe();
    if (!operators_.ok()) throw std::logic_error(operators_.error().message);
    return operators_->front();
  }
};

// A node of `custom`, with one output "y".
inline Result<graph::ValueId> try_custom(graph::GraphBuilder& builder,
                                         std::shared_ptr<const graph::CustomOperator> custom,
                                         std::vector<graph::ValueId> inputs, Attributes attributes = {},
                                         const std::string& name = "affine") {
  graph::Node node;
  node.op = custom->name;
  node.custom = std::move(custom);
  node.name = name;
  node.provenance = {name};
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const std::string output = builder.unique_name("y");
  HONE_ASSIGN(const auto outputs, builder.try_add(std::move(node), std::span(&output, 1)));
  return outputs[0];
}

// x: f32[rows, columns], bias: f32[columns] → y.
inline graph::Graph affine_graph(const AffinePlugin& plugin, int64_t rows, int64_t columns,
                                 bool with_bias = true, float alpha = 2.5F) {
  graph::GraphBuilder builder("affine");
  std::vector<graph::ValueId> inputs = {
      builder.input("x", graph::tensor_type(DType::kF32, Shape{rows, columns}))};
  if (with_bias) inputs.push_back(builder.input("bias", graph::tensor_type(DType::kF32, Shape{columns})));
  auto y = try_custom(builder, plugin.described(), inputs, {{"alpha", alpha}});
  if (!y.ok()) throw std::logic_error(y.error().message);
  builder.output(*y);
  auto graph = std::move(builder).finish();
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

}  // namespace hone::plugin::testing
