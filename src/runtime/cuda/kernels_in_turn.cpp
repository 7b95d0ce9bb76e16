#include "runtime/cuda/kernels_in_turn.h"

#include <algorithm>

namespace hone::runtime::cuda_kernels {
namespace {

struct KernelInTurn {
  std::unique_ptr<Kernel> kernel;
  std::vector<std::size_t> inputs, outputs;  // as those of CandidateInTurn
  std::vector<const void*> input_addresses;  // of a run
  std::vector<void*> output_addresses;
};

class KernelsInTurn : public Kernel {
 public:
  KernelsInTurn(std::vector<KernelInTurn> turns, std::optional<std::size_t> in_place)
      : turns_(std::move(turns)), in_place_(in_place) {}

  std::string implementation() const override {
    std::string text;
    for (const KernelInTurn& turn : turns_)
      text += (text.empty() ? "" : ", then ") + turn.kernel->implementation();
    return text;
  }
  std::size_t scratch_bytes() const override {
    std::size_t most = 0;
    for (const KernelInTurn& turn : turns_) most = std::max(most, turn.kernel->scratch_bytes());
    return most;
  }
  std::size_t packed_bytes() const override {
    std::size_t bytes = 0;
    for (const KernelInTurn& turn : turns_) bytes += turn.kernel->packed_bytes();
    return bytes;
  }
  bool reads(std::size_t input) const override {
    return std::any_of(turns_.begin(), turns_.end(), [&](const KernelInTurn& turn) {
      for (std::size_t i = 0; i < turn.inputs.size(); ++i)
        if (turn.inputs[i] == input && turn.kernel->reads(i)) return true;
      return false;
    });
  }

  std::optional<std::size_t> in_place_input() const override { return in_place_; }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    for (KernelInTurn& turn : turns_) {
      for (std::size_t i = 0; i < turn.inputs.size(); ++i)
        turn.input_addresses[i] = arguments.inputs[turn.inputs[i]];
      for (std::size_t i = 0; i < turn.outputs.size(); ++i)
        turn.output_addresses[i] = arguments.outputs[turn.outputs[i]];
      KernelArguments own = arguments;
      own.inputs = turn.input_addresses;
      own.outputs = turn.output_addresses;
      HONE_CHECK(turn.kernel->enqueue(own, queue));
    }
    return {};
  }

 private:
  std::vector<KernelInTurn> turns_;
  std::optional<std::size_t> in_place_;
};

}  // namespace

Candidate in_turn(std::string name, std::vector<CandidateInTurn> turns, std::optional<std::size_t> in_place) {
  return {.name = std::move(name),
          .make = [turns = std::move(turns), in_place]() -> Result<std::unique_ptr<Kernel>> {
            std::vector<KernelInTurn> made;
            for (const CandidateInTurn& turn : turns) {
              HONE_ASSIGN(std::unique_ptr<Kernel> kernel, turn.candidate.make());
              made.push_back({std::move(kernel), turn.inputs, turn.outputs,
                              std::vector<const void*>(turn.inputs.size()),
                              std::vector<void*>(turn.outputs.size())});
            }
            return std::unique_ptr<Kernel>(std::make_unique<KernelsInTurn>(std::move(made), in_place));
          }};
}

}  // namespace hone::runtime::cuda_kernels
