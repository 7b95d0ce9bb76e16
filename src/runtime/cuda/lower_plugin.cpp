// Operators of plugins: CUDA C++ that a plugin gives as text, compiled and launched like what hone generates. What it wants
// launched is judged here, before the driver sees it.
#include <bit>
#include <memory>

#include <fmt/core.h>

#include "plugin/kernels.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

constexpr uint32_t kMostThreadsOfBlock = 1024;
constexpr uint32_t kMostSharedBytes = 48 * 1024;  // without asking the driver for more
constexpr uint32_t kMostBlocksAcross = 65535;     // of a grid's y and z
constexpr uint32_t kMostBlocksAlong = 0x7fffffff;

using Kind = GpuParameter::Kind;

Result<GpuParameter> parameter_of(const hone_argument& given, const hone_node& node,
                                  const hone_cuda_plan& plan) {
  const auto present = [&](const hone_tensor* const* tensors, std::size_t count) {
    return given.index >= 0 && static_cast<std::size_t>(given.index) < count &&
           tensors[given.index] != nullptr;
  };
  switch (given.kind) {
    case HONE_ARGUMENT_INPUT:
      if (!present(node.inputs, node.input_count))
        return invalid(fmt::format("is input {}, which the node does not have", given.index));
      return input_parameter(static_cast<std::size_t>(given.index));
    case HONE_ARGUMENT_OUTPUT:
      if (!present(node.outputs, node.output_count))
        return invalid(fmt::format("is output {}, which the node does not have", given.index));
      return output_parameter(static_cast<std::size_t>(given.index));
    case HONE_ARGUMENT_SCRATCH:
      if (given.integer < 0 || static_cast<uint64_t>(given.integer) >= plan.scratch_bytes ||
          given.integer % 16 != 0)
        return invalid(
            fmt::format("is byte {} of {} bytes of scratch; it must lie in them, at a multiple of 16",
                        given.integer, plan.scratch_bytes));
      return GpuParameter{Kind::kScratch, given.integer};
    case HONE_ARGUMENT_INTEGER:
      return GpuParameter{Kind::kInteger, given.integer};
    case HONE_ARGUMENT_REAL:
      return GpuParameter{Kind::kInteger, std::bit_cast<int64_t>(given.real)};
    case HONE_ARGUMENT_FAULT:
      return GpuParameter{Kind::kFault, 0};
    case HONE_ARGUMENT_FAULT_WORD:
      return GpuParameter{Kind::kFaultWord, 1};
    default:
      return invalid(fmt::format("is of kind {}, which is no HONE_ARGUMENT_…", given.kind));
  }
}

Result<cuda::LaunchShape> shape_of(const hone_launch& given) {
  cuda::LaunchShape shape;
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    const uint32_t most = i == 0 ? kMostBlocksAlong : kMostBlocksAcross;
    if (given.grid[i] < 1 || given.grid[i] > most)
      return invalid(
          fmt::format("has {} blocks along axis {}; CUDA has grids of 1 to {}", given.grid[i], i, most));
    shape.grid[i] = given.grid[i];
    shape.block[i] = given.block[i];
    threads *= given.block[i];
    if (given.block[i] < 1 || threads > kMostThreadsOfBlock) break;
  }
  if (threads < 1 || threads > kMostThreadsOfBlock)
    return invalid(fmt::format("has blocks of {} × {} × {} threads; CUDA has 1 to {}", given.block[0],
                               given.block[1], given.block[2], kMostThreadsOfBlock));
  if (given.shared_bytes > kMostSharedBytes)
    return invalid(fmt::format("asks for {} bytes of shared memory; there are {}", given.shared_bytes,
                               kMostSharedBytes));
  shape.shared_bytes = given.shared_bytes;
  return shape;
}

Result<GpuLaunch> launch_of(const hone_launch& given, const hone_node& node, const hone_cuda_plan& plan) {
  if (given.entry == nullptr) return invalid("names no entry");
  if (given.argument_count > HONE_MAX_ARGUMENTS)
    return invalid(fmt::format("has {} arguments; {} at most", given.argument_count, HONE_MAX_ARGUMENTS));
  GpuLaunch launch;
  launch.entry = given.entry;
  HONE_ASSIGN(launch.shape, shape_of(given));
  for (uint32_t i = 0; i < given.argument_count; ++i) {
    auto parameter = parameter_of(given.arguments[i], node, plan);
    if (!parameter.ok()) return parameter.error().within(fmt::format("argument {}", i));
    launch.parameters.push_back(*parameter);
  }
  return launch;
}

Result<std::string> defines_of(const hone_cuda_plan& plan) {
  if (plan.define_count > HONE_MAX_DEFINES)
    return invalid(fmt::format("it has {} defines; {} at most", plan.define_count, HONE_MAX_DEFINES));
  std::string text;
  for (uint32_t i = 0; i < plan.define_count; ++i) {
    if (plan.defines[i].name == nullptr) return invalid(fmt::format("define {} has no name", i));
    text += fmt::format("#define {} {}\n", plan.defines[i].name, plan.defines[i].value);
  }
  return text;
}

// What one run launches, as data. The entries' names are the library's, which stays loaded.
Result<GpuLaunches> launches_of(const plugin::NodeView& view, const hone_cuda_kernel& kernel,
                                const hone_gpu& gpu) {
  const auto plan = std::make_unique<hone_cuda_plan>();  // zeros; some kilobytes
  HONE_CHECK(
      plugin::called([&](hone_error* error) { return kernel.plan(&view.c(), &gpu, plan.get(), error); }));
  if (plan->launch_count < 1 || plan->launch_count > HONE_MAX_LAUNCHES)
    return invalid(
        fmt::format("it launches {} kernels; 1 to {} are possible", plan->launch_count, HONE_MAX_LAUNCHES));
  GpuLaunches launches;
  launches.foreign = true;
  launches.implementation = plugin::implementation_text(view.custom(), kernel.name) + " (CUDA)";
  HONE_CHECK(plugin::check_scratch(view.custom(), kernel.name, plan->scratch_bytes));
  launches.scratch_bytes = plan->scratch_bytes;
  launches.fault = plan->fault_text != nullptr ? plan->fault_text : "the data are wrong";
  HONE_ASSIGN(const std::string defines, defines_of(*plan));
  cuda::KernelSource source{
      .name = fmt::format("{} ({})", view.custom().name, plugin::plugin_text(view.custom())),
      .text = defines + kernel.source,
      .options = {}};
  for (std::size_t i = 0; i < kernel.option_count; ++i) source.options.emplace_back(kernel.options[i]);
  for (uint32_t i = 0; i < plan->launch_count; ++i) {
    auto launch = launch_of(plan->launches[i], view.c(), *plan);
    if (!launch.ok()) return launch.error().within(fmt::format("launch {}", i));
    launch->source = source;
    launches.launches.push_back(*std::move(launch));
  }
  return launches;
}

}  // namespace

Result<std::vector<Candidate>> plugin_candidates(const LowerContext& context, const GpuKernels& kernels) {
  plugin::NodeView view(context.node);
  view.add_all(context.graph);
  const auto takers = plugin::cuda_kernels_for(view);
  if (takers.kernels.empty()) return plugin::no_kernel(view.custom(), "cuda", takers.refusals);
  if (kernels.cache == nullptr)
    return plugin::no_kernel(view.custom(), "cuda", "there is no NVRTC to compile its kernels with");
  const cuda::Context& gpu = *kernels.device->context();
  const hone_gpu described = {gpu.architecture().number, gpu.multiprocessors()};
  std::vector<Candidate> found;
  for (const hone_cuda_kernel* const kernel : takers.kernels) {
    const std::string name = plugin::implementation_text(view.custom(), kernel->name);
    auto launches = launches_of(view, *kernel, described);
    if (!launches.ok()) return launches.error().within(name + ": plan()");
    offer_launches(kernels, name, *std::move(launches), found);
  }
  return found;
}

}  // namespace hone::runtime::cuda_kernels
