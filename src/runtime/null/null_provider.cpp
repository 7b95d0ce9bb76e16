#include "runtime/null/null_provider.h"

namespace hone::runtime {
namespace {

class NullKernel : public Kernel {
 public:
  std::string implementation() const override { return "null"; }
  std::optional<std::size_t> in_place_input() const override { return 0; }
  Status run(const KernelArguments&) override { return {}; }
};

}  // namespace

Result<std::vector<Candidate>> NullProvider::candidates(const graph::Graph&, const graph::Node&) const {
  return std::vector<Candidate>{{"null", []() -> Result<std::unique_ptr<Kernel>> {
                                   return std::unique_ptr<Kernel>(std::make_unique<NullKernel>());
                                 }}};
}

}  // namespace hone::runtime
