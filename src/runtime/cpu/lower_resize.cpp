// Resize of images, nearest and linear, in the layout of the input: hone's own kernel, f32.
#include <fmt/core.h>

#include "kernels/cpu/resize/resize.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/resize_of_node.h"

namespace hone::runtime::cpu {

void lower_resize(const LowerContext& context, std::vector<Candidate>& found) {
  const auto known = resize_of_node(context);
  if (!known || context.in(0).dtype != DType::kF32) return;
  found.push_back(
      {"hone resize", [desc = known->desc, unread = known->unread]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Resize resize, kernels::Resize::create(desc));
         KernelTraits traits{.implementation = fmt::format("hone resize ({})", layout_name(desc.layout))};
         traits.scratch_bytes = resize.scratch_bytes();
         traits.unread = unread;
         return make_kernel(std::move(traits),
                            [resize = std::move(resize)](const KernelArguments& a) -> Status {
                              resize.execute(static_cast<const float*>(a.inputs[0]),
                                             static_cast<float*>(a.outputs[0]), a.scratch);
                              return {};
                            });
       }});
}

}  // namespace hone::runtime::cpu
