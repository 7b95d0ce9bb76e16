#include "runtime/cuda/reference_on_host.h"

#include <exception>

#include "runtime/reference_kernel.h"

namespace hone::runtime::cuda_kernels {
namespace {

// A tensor of the node on its way.
struct Carried {
  std::size_t bytes = 0;
  Tensor constant;                  // its data never change, so nothing is carried
  std::shared_ptr<Memory> staging;  // of a kernel: candidates have none

  void* host() const {
    if (constant.defined()) return const_cast<void*>(constant.data());  // of inputs, which nobody writes
    return staging != nullptr ? staging->address() : nullptr;
  }
  bool travels() const { return !constant.defined() && bytes > 0; }
};

class ReferenceOnHost : public Kernel {
 public:
  ReferenceOnHost(const ReferenceNode& node, std::vector<Carried> inputs, std::vector<Carried> outputs,
                  Memory fault, std::string why)
      : node_(node),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        fault_(std::move(fault)),
        why_(std::move(why)) {
    for (const Carried& input : inputs_) from_.push_back(input.host());
    for (const Carried& output : outputs_) to_.push_back(output.host());
  }

  std::string implementation() const override {
    return "reference, off the GPU" + (why_.empty() ? "" : ": " + why_);
  }
  bool is_reference() const override { return true; }
  bool reads(std::size_t input) const override { return !inputs_[input].constant.defined(); }
  Error fault(uint32_t) const override { return error_; }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    auto& cuda = static_cast<CudaQueue&>(queue);
    step_ = arguments.step;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].travels())
        HONE_CHECK(cuda.copy_out(inputs_[i].staging->address(), arguments.inputs[i], inputs_[i].bytes));
    }
    HONE_CHECK(cuda.copy_out(fault_.address(), arguments.fault, sizeof(FaultWord)));
    HONE_CHECK(cuda.call_host([](void* self) { static_cast<ReferenceOnHost*>(self)->compute(); }, this));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].travels())
        HONE_CHECK(cuda.copy_in(arguments.outputs[i], outputs_[i].staging->address(), outputs_[i].bytes));
    }
    return cuda.copy_in(arguments.fault, fault_.address(), sizeof(FaultWord));
  }

 private:
  static constexpr uint32_t kDataFault = 1;

  // On a thread of the driver's, which no exception may reach.
  void compute() {
    Status status;
    try {
      status = node_.run({.inputs = from_, .outputs = to_});
    } catch (const std::exception& error) {
      status = invalid(error.what());
    }
    auto* const word = reinterpret_cast<FaultWord*>(fault_.address());
    if (status.ok() || *word != 0) return;
    error_ = status.error();
    *word = fault_word(step_, kDataFault);
  }

  ReferenceNode node_;
  std::vector<Carried> inputs_, outputs_;
  Memory fault_;
  std::string why_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  uint32_t step_ = 0;
  Error error_;
};

Result<std::vector<Carried>> with_staging(CudaDevice& device, std::vector<Carried> carried) {
  for (Carried& tensor : carried) {
    if (!tensor.travels()) continue;
    HONE_ASSIGN(Memory staging, device.allocate_staging(tensor.bytes));
    tensor.staging = std::make_shared<Memory>(std::move(staging));
  }
  return carried;
}

}  // namespace

Candidate reference_on_host(std::shared_ptr<CudaDevice> device, const graph::Graph& graph,
                            const graph::Node& node, std::string why) {
  const auto carried_by = [&](std::span<const graph::ValueId> ids) {
    std::vector<Carried> carried;
    for (const graph::ValueId id : ids) {
      Carried& tensor = carried.emplace_back();
      if (!id.valid()) continue;
      tensor.bytes = graph.type(id).storage_bytes();
      if (graph.value(id).is_constant()) tensor.constant = *graph.value(id).constant;
    }
    return carried;
  };
  return {
      .name = "reference, off the GPU",
      .make = [device, reference = ReferenceNode(graph, node), in = carried_by(node.inputs),
               out = carried_by(node.outputs), why = std::move(why)]() -> Result<std::unique_ptr<Kernel>> {
        HONE_ASSIGN(std::vector<Carried> inputs, with_staging(*device, in));
        HONE_ASSIGN(std::vector<Carried> outputs, with_staging(*device, out));
        HONE_ASSIGN(Memory fault, device->allocate_staging(sizeof(FaultWord)));
        return std::unique_ptr<Kernel>(std::make_unique<ReferenceOnHost>(
            reference, std::move(inputs), std::move(outputs), std::move(fault), why));
      },
      .reference = true};
}

}  // namespace hone::runtime::cuda_kernels
