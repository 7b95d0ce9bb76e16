#include "trace/link/frameworks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/segments/record.h"

namespace hone::trace::link {
namespace {

using enum Framework;

// Sources: torch/csrc/autograd, torch/profiler, torch/optim, torch/_inductor (names of generated kernels),
// ATen (namespaces of its kernels); jax/_src and jaxlib (traced functions), xla/tsl/profiler (NVTX ranges of
// XLA's modules and thunks), xla/service/gpu (names of its fusions); tensorflow/core (kernels, eager
// runtime). XLA serves JAX and TensorFlow: its own names count for JAX, which has no other, and TensorFlow's
// are more.
constexpr NamePattern<Framework> kMarks[] = {
    {"aten::", kPyTorch, At::kFront},
    {"prims::", kPyTorch, At::kFront},
    {"autograd::engine", kPyTorch, At::kFront},
    {"c10d::", kPyTorch, At::kFront},
    {"_c10d_functional::", kPyTorch, At::kFront},
    {"record_param_comms", kPyTorch, At::kFront},
    {"ProfilerStep#", kPyTorch, At::kFront},
    {"Optimizer.step#", kPyTorch, At::kFront},
    {"Optimizer.zero_grad#", kPyTorch, At::kFront},
    {"enumerate(DataLoader)", kPyTorch, At::kFront},
    {"nn.Module: ", kPyTorch, At::kFront},
    {"Torch-Compiled Region", kPyTorch, At::kFront},
    {"## Call CompiledFxGraph", kPyTorch, At::kFront},
    {"(dynamo_timed)", kPyTorch},
    {"torch/nn/modules/", kPyTorch},
    {"torch/autograd/", kPyTorch},
    {"at::native::", kPyTorch},
    {"at::cuda::", kPyTorch},
    {"c10::", kPyTorch},
    {"pytorch_flash::", kPyTorch},
    {"triton_poi_fused", kPyTorch, At::kFront},
    {"triton_red_fused", kPyTorch, At::kFront},
    {"triton_per_fused", kPyTorch, At::kFront},
    {"triton_tem_fused", kPyTorch, At::kFront},
    {"triton_for_fused", kPyTorch, At::kFront},
    {"PjitFunction(", kJax, At::kFront},
    {"hlo_module=jit", kJax},
    {"hlo_module=pmap", kJax},
    {"jax/_src/", kJax},
    {"XlaModule:", kJax},
    {"TSL:Thunk", kJax, At::kFront},
    {"PjRtStreamExecutor", kJax, At::kFront},
    {"xla::gpu::", kJax},
    {"loop_fusion", kJax, At::kFront},
    {"input_reduce_fusion", kJax, At::kFront},
    {"loop_add_fusion", kJax, At::kFront},
    {"loop_multiply_fusion", kJax, At::kFront},
    {"gemm_fusion_dot", kJax, At::kFront},
    {"tensorflow::", kTensorFlow},
    {"tensorflow/python/", kTensorFlow},
    {"EagerExecute", kTensorFlow, At::kFront},
    {"EagerKernelExecute", kTensorFlow, At::kFront},
    {"ExecutorState::Process", kTensorFlow, At::kFront},
    {"Eigen::internal::EigenMetaKernel", kTensorFlow},
};

}  // namespace

std::span<const NamePattern<Framework>> framework_marks() { return kMarks; }

Framework recognise_framework(const Trace& trace) {
  if (trace.meta.framework != kNative) return trace.meta.framework;
  const std::string& producer = trace.meta.producer;
  if (producer.starts_with("hone ") && producer != segments::kProducer) return kHone;
  std::vector<char> seen(trace.strings.size(), 0);
  std::array<std::size_t, kFrameworkCount> votes = {};
  for (const StringId name : trace.spans.name) {
    if (!name.valid() || std::exchange(seen[name.index], char{1}) != 0) continue;
    const auto of = first_match(framework_marks(), trace.strings.text(name));
    if (of) ++votes[static_cast<std::size_t>(*of)];
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  return *most == 0 ? kNative : static_cast<Framework>(most - votes.begin());
}

}  // namespace hone::trace::link
