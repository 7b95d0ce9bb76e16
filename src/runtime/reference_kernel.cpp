#include "runtime/reference_kernel.h"

#include <cstring>

#include <fmt/core.h>

#include "kernels/ref/ref.h"
#include "runtime/host_device.h"
#include "runtime/interpreter.h"

namespace hone::runtime {
namespace {

class ReferenceKernel : public Kernel {
 public:
  explicit ReferenceKernel(const ReferenceNode& node) : node_(node) {}
  std::string implementation() const override { return "reference"; }
  bool is_reference() const override { return true; }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const RecyclingHeap::Use heap(static_cast<HostQueue&>(queue).heap());
    return node_.run(arguments);
  }

 private:
  ReferenceNode node_;
};

}  // namespace

bool ReferenceNode::can_run(const graph::Graph& graph, const graph::Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (graph::ValueId id : *ids) {
      if (id.valid() && graph.type(id).layout != Layout::kPlain) return false;
    }
  }
  return true;
}

ReferenceNode::ReferenceNode(const graph::Graph& graph, const graph::Node& node) : node_(node) {
  (void)kernels::ref::ref_table();  // made on first use, which is not to be in a run
  for (graph::ValueId id : node.inputs) inputs_.push_back(id.valid() ? graph.type(id) : graph::TensorType{});
  for (graph::ValueId id : node.outputs)
    outputs_.push_back(id.valid() ? graph.type(id) : graph::TensorType{});
}

Status ReferenceNode::run(const KernelArguments& arguments) const {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const bool present = node_.has_input(i);
    inputs.push_back(
        present ? Tensor::borrowed(inputs_[i].dtype, inputs_[i].shape(), arguments.inputs[i], nullptr)
                : Tensor());
  }
  HONE_ASSIGN(const std::vector<Tensor> outputs, interpret_node(node_, inputs));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!node_.has_output(i)) continue;
    if (outputs[i].shape() != outputs_[i].shape() || outputs[i].dtype() != outputs_[i].dtype) {
      return invalid(fmt::format("the reference gives {}{}, the graph says {}",
                                 dtype_name(outputs[i].dtype()), shape_text(outputs[i].shape()),
                                 outputs_[i].text()));
    }
    if (outputs[i].bytes() > 0) std::memcpy(arguments.outputs[i], outputs[i].data(), outputs[i].bytes());
  }
  return {};
}

Candidate reference_candidate(const graph::Graph& graph, const graph::Node& node) {
  return {.name = "reference",
          .make = [reference = ReferenceNode(graph, node)]() -> Result<std::unique_ptr<Kernel>> {
            return std::unique_ptr<Kernel>(std::make_unique<ReferenceKernel>(reference));
          },
          .reference = true};
}

}  // namespace hone::runtime
