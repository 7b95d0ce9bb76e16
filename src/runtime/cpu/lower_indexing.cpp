// Reads and writes at computed places: Gather, GatherElements, GatherND, ScatterElements, ScatterND.
#include <cstring>

#include "kernels/cpu/movement/gather.h"
#include "kernels/cpu/movement/scatter_add.h"
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

// Scatters that add, of f32 by i64 indices.
void offer_scatter_add(const LowerContext& context, std::vector<Candidate>& found) {
  if (context.in(0).dtype != DType::kF32 || context.in(1).dtype != DType::kI64 ||
      context.in(0).layout != Layout::kPlain || context.in(2).layout != Layout::kPlain)
    return;
  const Shape data = context.in_shape(0), indices = context.in_shape(1);
  const bool elements = context.node.op == "ScatterElements";
  if (indices.empty() || element_count(data) == 0) return;
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(data.size()));
  if (!axis.ok()) return;
  const int64_t width = indices.back();
  const int64_t tuples = element_count(std::span(indices).first(indices.size() - 1));
  const auto made = elements ? kernels::ScatterAdd::elements(data, indices, *axis)
                             : kernels::ScatterAdd::slices(data, tuples, width);
  if (!made.ok()) return;
  const std::size_t bytes = static_cast<std::size_t>(element_count(data)) * sizeof(float);
  found.push_back(
      {"hone scatter add",
       [engine = *made, bytes, error = index_error(context)]() -> Result<std::unique_ptr<Kernel>> {
         return make_kernel({.implementation = "hone scatter add", .in_place = 0},
                            [engine, bytes, error](const KernelArguments& a) -> Status {
                              if (a.outputs[0] != a.inputs[0]) std::memcpy(a.outputs[0], a.inputs[0], bytes);
                              const auto* places = static_cast<const int64_t*>(a.inputs[1]);
                              if (engine.execute(f32(a.inputs[2]), places, f32(a.outputs[0]))) return {};
                              return invalid(error);
                            });
       }});
}

}  // namespace

void lower_indexing(const LowerContext& context, std::vector<Candidate>& found) {
  if (context.node.op.starts_with("Scatter") && context.node.attributes.text("reduction", "none") == "add")
    return offer_scatter_add(context, found);
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
