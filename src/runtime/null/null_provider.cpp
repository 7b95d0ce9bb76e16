#include "runtime/null/null_provider.h"

#include <fmt/core.h>

#include "runtime/reference_kernel.h"

namespace hone::runtime {
namespace {

class NullKernel : public Kernel {
 public:
  explicit NullKernel(const ReferenceNode& node) : node_(node) {}
  std::string implementation() const override { return "reference"; }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    auto& null = static_cast<NullQueue&>(queue);
    HONE_CHECK(check_addresses(arguments, null.device().wall()));
    return null.launch([this, arguments]() -> Status {
      if (Status status = node_.run(arguments); !status.ok() && *arguments.fault == 0) {
        fault_ = status.error();
        *arguments.fault = fault_word(arguments.step, kDataFault);
      }
      return {};
    });
  }
  Error fault(uint32_t) const override { return fault_; }

 private:
  static constexpr uint32_t kDataFault = 1;

  // A host address would do on a device whose memory is the host's.
  static Status check_addresses(const KernelArguments& arguments, const Wall& wall) {
    for (const void* input : arguments.inputs) {
      if (input != nullptr && !wall.holds(input))
        return invalid(fmt::format("an input lies at {}, which is no address of device null", input));
    }
    for (const void* output : arguments.outputs) {
      if (output != nullptr && !wall.holds(output))
        return invalid(fmt::format("an output lies at {}, which is no address of device null", output));
    }
    return {};
  }

  ReferenceNode node_;
  Error fault_;  // what the code stands for: a device of its own could not keep more than a number
};

}  // namespace

std::string NullProvider::signature(Share share) const {
  return share == Share::kLane ? "null, a lane" : "null";
}

Result<std::vector<Candidate>> NullProvider::candidates(const graph::Graph& graph, const graph::Node& node,
                                                        Share) const {
  if (!ReferenceNode::can_run(graph, node)) return std::vector<Candidate>{};
  return std::vector<Candidate>{
      {"reference", [reference = ReferenceNode(graph, node)]() -> Result<std::unique_ptr<Kernel>> {
         return std::unique_ptr<Kernel>(std::make_unique<NullKernel>(reference));
       }}};
}

}  // namespace hone::runtime
