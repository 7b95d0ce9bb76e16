// Operators of plugins: each of their CPU kernels that takes the node is a candidate. There is no other: where a plugin has
// none, the reference does not stand in.
#include "kernels/cpu/parallel.h"
#include "plugin/kernels.h"
#include "runtime/cpu/families.h"

namespace hone::runtime::cpu {
namespace {

void on_team(const hone_cpu_call* call, int64_t count, int64_t grain, hone_body body, void* context) {
  kernels::parallel_for(count, kernels::grain_within(count, grain, call->threads),
                        [&](int64_t begin, int64_t end, int thread) { body(context, begin, end, thread); });
}

class PluginCpuKernel : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const LowerContext& context, const hone_cpu_kernel& kernel) {
    auto made = std::make_unique<PluginCpuKernel>(context, kernel, kernels::thread_count());
    HONE_ASSIGN(made->scratch_bytes_, plugin::scratch_bytes_of(made->view_, kernel, made->call_.threads));
    return std::unique_ptr<Kernel>(std::move(made));
  }
  PluginCpuKernel(const LowerContext& context, const hone_cpu_kernel& kernel, int threads)
      : view_(context.node), kernel_(kernel) {
    view_.add_all(context.graph);
    call_.threads = threads;
    call_.parallel = on_team;
  }

  std::string implementation() const override {
    return plugin::implementation_text(view_.custom(), kernel_.name);
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  Status enqueue(const KernelArguments& arguments, Queue&) override {
    for (std::size_t i = 0; i < arguments.inputs.size(); ++i) view_.set_input(i, arguments.inputs[i]);
    for (std::size_t i = 0; i < arguments.outputs.size(); ++i) view_.set_output(i, arguments.outputs[i]);
    call_.scratch = scratch_bytes_ > 0 ? arguments.scratch : nullptr;
    return plugin::run_kernel(view_, kernel_, call_);
  }

 private:
  plugin::NodeView view_;
  const hone_cpu_kernel& kernel_;  // the library's, which stays loaded
  hone_cpu_call call_ = {};
  std::size_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::vector<Candidate>> plugin_candidates(const LowerContext& context) {
  plugin::NodeView view(context.node);
  view.add_all(context.graph);
  const auto takers = plugin::cpu_kernels_for(view);
  if (takers.kernels.empty()) return plugin::no_kernel(view.custom(), "cpu", takers.refusals);
  std::vector<Candidate> found;
  for (const hone_cpu_kernel* const kernel : takers.kernels)
    found.push_back({.name = plugin::implementation_text(view.custom(), kernel->name),
                     .make = [context, kernel] { return PluginCpuKernel::make(context, *kernel); }});
  return found;
}

}  // namespace hone::runtime::cpu
