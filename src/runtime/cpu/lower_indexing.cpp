// Reads and writes at computed places: Gather, GatherElements, GatherND, ScatterElements, ScatterND.
#include <cstring>

#include "kernels/cpu/movement/gather.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/gather_of_node.h"

namespace hone::runtime::cpu {
namespace {

void offer_gather(const LowerContext& context, const kernels::GatherDesc& desc,
                  std::vector<Candidate>& found) {
  found.push_back({"hone gather", [desc, error = index_error(context)]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Gather gather, kernels::Gather::create(desc));
                     return make_kernel({.implementation = "hone gather"},
                                        [gather, error](const KernelArguments& a) -> Status {
                                          if (gather.execute(a.inputs[0], a.inputs[1], a.outputs[0]))
                                            return {};
                                          return invalid(error);
                                        });
                   }});
}

// Gathers read data and indices; scatters write updates into a copy of the data.
template <typename Engine, typename Desc>
void offer(const std::string& name, const LowerContext& context, const Desc& desc, bool scatter,
           std::vector<Candidate>& found) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(context.in_shape(0))) * desc.element_size;
  found.push_back(
      {name, [name, desc, scatter, bytes, error = index_error(context)]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(Engine engine, Engine::create(desc));
         KernelTraits traits{.implementation = name};
         if (scatter) traits.in_place = 0;
         return make_kernel(std::move(traits),
                            [engine, scatter, bytes, error](const KernelArguments& a) -> Status {
                              bool inside = true;
                              if (scatter) {
                                if (a.outputs[0] != a.inputs[0])
                                  std::memcpy(a.outputs[0], a.inputs[0], bytes);
                                inside = engine.scatter(a.inputs[2], a.inputs[1], a.outputs[0]);
                              } else {
                                inside = engine.gather(a.inputs[0], a.inputs[1], a.outputs[0]);
                              }
                              if (inside) return {};
                              return invalid(error);
                            });
       }});
}

}  // namespace

void lower_indexing(const LowerContext& context, std::vector<Candidate>& found) {
  const auto gather = gather_of_node(context);
  if (!gather) return;
  const bool scatter = context.node.op.starts_with("Scatter");
  if (const auto* axis = std::get_if<kernels::GatherDesc>(&*gather)) offer_gather(context, *axis, found);
  if (const auto* elements = std::get_if<kernels::ElementsDesc>(&*gather))
    offer<kernels::GatherElements>(scatter ? "hone scatter elements" : "hone gather elements", context,
                                   *elements, scatter, found);
  if (const auto* tuples = std::get_if<kernels::GatherNDDesc>(&*gather))
    offer<kernels::GatherND>(scatter ? "hone scatter nd" : "hone gather nd", context, *tuples, scatter,
                             found);
}

}  // namespace hone::runtime::cpu
