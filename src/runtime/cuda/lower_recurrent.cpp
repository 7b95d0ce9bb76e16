// LSTM, GRU and RNN on a GPU: the product of all inputs with W by cuBLASLt, of both directions at once, then one launch of our
// own a step (kernels/cuda/recurrent.h).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/cuda/recurrent.h"
#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {
namespace {

using Program = kernels::gpu::RecurrentProgram;

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeephole };
constexpr std::size_t kInputWorkspace = std::size_t{32} << 20;
constexpr std::size_t kPartOfScratch = 256;  // bytes that parts are aligned to
constexpr uint64_t kVectorAlignment = 16;    // of R, which is read by vectors

struct RecurrentTraits {
  std::string implementation;
  Program program;
  cuda::ProductDesc product;
  cuda::ProductAlgorithm algorithm;
  kernels::gpu::RecurrentKernels kernels;
};

class GpuRecurrent : public Kernel {
 public:
  GpuRecurrent(RecurrentTraits traits, std::unique_ptr<cuda::Product> product, LoadedKernel step,
               cuda::FunctionHandle begin, cuda::FunctionHandle reset)
      : traits_(std::move(traits)),
        product_(std::move(product)),
        step_(std::move(step)),
        begin_(begin),
        reset_(reset) {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return workspace_at() + traits_.algorithm.workspace_bytes; }
  Error fault(uint32_t) const override { return invalid("a sequence is shorter than 0 or longer than X"); }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    auto& cuda_queue = static_cast<CudaQueue&>(queue);
    auto* const scratch = static_cast<std::byte*>(arguments.scratch);
    void* gates = scratch;
    void* states = scratch + states_at();
    HONE_CHECK(multiply_inputs(arguments, gates, scratch + workspace_at(), cuda_queue));
    const void* const r = arguments.inputs[kR];
    if (reinterpret_cast<uintptr_t>(r) % kVectorAlignment != 0) [[unlikely]]
      return invalid(fmt::format("R is not aligned to {} bytes", kVectorAlignment));
    const auto begun = given(arguments, std::array{kLengths, kInitialH, kInitialC});
    const void* fault = arguments.fault;
    uint64_t word = fault_word(arguments.step, kLengthFault);
    HONE_CHECK(launch(cuda_queue, begin_, kernels::gpu::kRecurrentBeginEntry, begin_shape(), &begun[0],
                      &begun[1], &begun[2], &states, &fault, &word));
    const auto in = given(arguments, std::array{kB, kLengths, kPeephole});
    const std::array<const void*, 3> out = {wanted(arguments, 0), wanted(arguments, 1), wanted(arguments, 2)};
    for (int64_t step = 0; step < traits_.program.time; ++step) {
      if (traits_.program.in_two())
        HONE_CHECK(launch(cuda_queue, reset_, kernels::gpu::kRecurrentResetEntry, step_shape(), &gates, &r,
                          &in[0], &in[1], &states, &step));
      HONE_CHECK(launch(cuda_queue, step_.function, kernels::gpu::kRecurrentStepEntry, step_shape(), &gates,
                        &r, &in[0], &in[1], &in[2], &states, &out[0], &out[1], &out[2], &step));
    }
    return {};
  }

 private:
  static constexpr uint32_t kLengthFault = 1;

  static const void* input(const KernelArguments& arguments, std::size_t i) {
    return i < arguments.inputs.size() ? arguments.inputs[i] : nullptr;
  }
  static void* wanted(const KernelArguments& arguments, std::size_t i) {
    return i < arguments.outputs.size() ? arguments.outputs[i] : nullptr;
  }
  static std::array<const void*, 3> given(const KernelArguments& arguments,
                                          const std::array<Input, 3>& inputs) {
    return {input(arguments, inputs[0]), input(arguments, inputs[1]), input(arguments, inputs[2])};
  }

  template <typename... Values>
  static Status launch(CudaQueue& queue, cuda::FunctionHandle function, const char* name,
                       const cuda::LaunchShape& shape, Values*... values) {
    std::array<void*, sizeof...(Values)> parameters = {
        const_cast<void*>(static_cast<const void*>(values))...};
    return queue.launch(function, shape, parameters, name, cuda::Launch::kEarly);
  }

  Status multiply_inputs(const KernelArguments& arguments, void* gates, void* workspace, CudaQueue& queue) {
    const cuda::ProductOperands operands{
        .a = arguments.inputs[kX], .b = arguments.inputs[kW], .d = gates, .workspace = workspace};
    const uint32_t alignment = cuda::alignment_of(operands);
    if (alignment >= cuda::kProductAlignment)
      return product_->run(traits_.algorithm, operands, queue.stream());
    HONE_ASSIGN(const auto found, product_->algorithms(1, traits_.algorithm.workspace_bytes, alignment));
    if (found.empty())
      return unsupported(fmt::format("cuBLASLt has no product of operands aligned to {} bytes", alignment));
    return product_->run(found[0], operands, queue.stream());
  }

  static std::size_t padded(std::size_t bytes) {
    return (bytes + kPartOfScratch - 1) / kPartOfScratch * kPartOfScratch;
  }
  std::size_t states_at() const {
    const cuda::ProductDesc& product = traits_.product;
    return padded(static_cast<std::size_t>(product.batch * product.rows * product.columns) *
                  dtype_size(product.dtype));
  }
  std::size_t workspace_at() const {
    return states_at() + padded(static_cast<std::size_t>(traits_.kernels.state_floats) * sizeof(float));
  }
  cuda::LaunchShape begin_shape() const {
    cuda::LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(traits_.kernels.begin_blocks);
    shape.block[0] = kernels::gpu::kRecurrentThreads;
    return shape;
  }
  cuda::LaunchShape step_shape() const {
    cuda::LaunchShape shape;
    for (int axis = 0; axis < 3; ++axis)
      shape.grid[axis] = static_cast<unsigned>(traits_.kernels.step_grid[axis]);
    shape.block[0] = kernels::gpu::kRecurrentThreads;
    return shape;
  }

  RecurrentTraits traits_;
  std::unique_ptr<cuda::Product> product_;
  LoadedKernel step_;
  cuda::FunctionHandle begin_ = nullptr, reset_ = nullptr;  // of the same module; `reset` where in_two()
};

Strings default_functions(Program::Kind kind) {
  if (kind == Program::Kind::kLstm) return {"Sigmoid", "Tanh", "Tanh"};
  return kind == Program::Kind::kGru ? Strings{"Sigmoid", "Tanh"} : Strings{"Tanh"};
}

std::optional<Program> recurrent_program(const LowerContext& context) {
  const graph::Node& node = context.node;
  const Attributes& attributes = node.attributes;
  Program program{.kind = node.op == "LSTM"  ? Program::Kind::kLstm
                          : node.op == "GRU" ? Program::Kind::kGru
                                             : Program::Kind::kRnn,
                  .dtype = context.in(kX).dtype};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    const DType wanted = i == kLengths ? DType::kI32 : program.dtype;
    if (context.in(i).dtype != wanted || context.in(i).layout != Layout::kPlain) return std::nullopt;
  }
  const Shape x = context.in_shape(kX);
  program.batch_first = attributes.integer("layout", 0) != 0;
  program.time = x[program.batch_first ? 1 : 0];
  program.batch = x[program.batch_first ? 0 : 1];
  program.hidden = context.in_shape(kR)[2];
  program.clip = attributes.real("clip", 0.0F);
  program.linear_before_reset = attributes.integer("linear_before_reset", 0) != 0;
  program.input_forget = attributes.integer("input_forget", 0) != 0;
  const std::string direction = attributes.text("direction", "forward");
  program.reverse = direction == "bidirectional" ? std::vector<bool>{false, true}
                                                 : std::vector<bool>{direction == "reverse"};
  auto functions = read_recurrent_functions(attributes, default_functions(program.kind),
                                            static_cast<int64_t>(program.reverse.size()));
  if (!functions.ok()) return std::nullopt;
  program.functions = *std::move(functions);
  return program;
}

// Rows are those of X, whichever way round its axes are.
cuda::ProductDesc input_product(const Program& program, int64_t input) {
  cuda::ProductDesc desc{.dtype = program.dtype,
                         .rows = program.time * program.batch,
                         .columns = program.gates() * program.hidden,
                         .depth = input,
                         .transpose_b = true,
                         .batch = static_cast<int64_t>(program.reverse.size())};
  if (desc.batch > 1) {
    desc.b_stride = desc.columns * desc.depth;
    desc.d_stride = desc.rows * desc.columns;
  }
  return desc;
}

Result<std::unique_ptr<Kernel>> make_recurrent(const GpuKernels& kernels, const RecurrentTraits& traits) {
  HONE_ASSIGN(auto product, cuda::Product::make(kernels.products, traits.product));
  namespace gpu = hone::kernels::gpu;
  HONE_ASSIGN(LoadedKernel step, load_kernel(kernels, traits.kernels.source, gpu::kRecurrentStepEntry));
  HONE_ASSIGN(const auto begin, cuda::find_function(step.module, gpu::kRecurrentBeginEntry));
  cuda::FunctionHandle reset = nullptr;
  if (traits.program.in_two()) {
    HONE_ASSIGN(reset, cuda::find_function(step.module, gpu::kRecurrentResetEntry));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<GpuRecurrent>(traits, std::move(product), std::move(step), begin, reset));
}

}  // namespace

void lower_recurrent(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if ((node.op != "LSTM" && node.op != "GRU" && node.op != "RNN") || !context.has(kX) || !context.has(kW) ||
      !context.has(kR))
    return;
  const auto program = recurrent_program(context);
  const int64_t input = context.in_shape(kX).back();
  if (!program || input < 1) return;
  auto generated = hone::kernels::gpu::generate_recurrent(*program);
  if (!generated.ok()) return;
  RecurrentTraits traits{.implementation = fmt::format("cuBLASLt, then hone {} steps (CUDA)", node.op),
                         .program = *program,
                         .product = input_product(*program, input),
                         .algorithm = {},
                         .kernels = *std::move(generated)};
  const auto product = cuda::Product::make(kernels.products, traits.product);
  if (!product.ok()) return;
  const auto algorithms = (*product)->algorithms(1, kInputWorkspace);
  if (!algorithms.ok() || algorithms->empty()) return;
  traits.algorithm = algorithms->front();
  found.push_back({.name = "cuBLASLt, then hone steps",
                   .make = [kernels, traits] { return make_recurrent(kernels, traits); }});
}

}  // namespace hone::runtime::cuda_kernels
