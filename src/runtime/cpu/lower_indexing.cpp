// Reads and writes at computed places: GatherElements, GatherND, ScatterElements, ScatterND.
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/movement/gather.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

Status out_of_range(const Shape& shape) {
  return invalid(fmt::format("an index is out of range for a tensor of shape {}", shape_text(shape)));
}

// Gathers read data and indices; scatters write updates into a copy of the data.
template <typename Engine, typename Desc>
void offer(const std::string& name, const LowerContext& context, const Desc& desc, bool scatter,
           std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(0);
  const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * desc.element_size;
  found.push_back({name, [name, desc, scatter, shape, bytes]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(Engine engine, Engine::create(desc));
                     KernelTraits traits{.implementation = name};
                     if (scatter) traits.in_place = 0;
                     return make_kernel(std::move(traits),
                                        [engine, scatter, shape, bytes](const KernelArguments& a) -> Status {
                                          bool inside = true;
                                          if (scatter) {
                                            if (a.outputs[0] != a.inputs[0])
                                              std::memcpy(a.outputs[0], a.inputs[0], bytes);
                                            inside = engine.scatter(a.inputs[2], a.inputs[1], a.outputs[0]);
                                          } else {
                                            inside = engine.gather(a.inputs[0], a.inputs[1], a.outputs[0]);
                                          }
                                          if (inside) return {};
                                          return out_of_range(shape);
                                        });
                   }});
}

void lower_elements(const LowerContext& context, bool scatter, std::vector<Candidate>& found) {
  kernels::ElementsDesc desc;
  desc.element_size = dtype_size(context.in(0).dtype);
  desc.data_shape = context.in_shape(0);
  desc.index_shape = context.in_shape(1);
  const auto axis = normalize_axis(context.node.attributes.integer("axis", 0),
                                   static_cast<int64_t>(desc.data_shape.size()));
  if (!axis.ok()) return;
  desc.axis = *axis;
  desc.index_type = context.in(1).dtype;
  offer<kernels::GatherElements>(scatter ? "hone scatter elements" : "hone gather elements", context, desc,
                                 scatter, found);
}

void lower_nd(const LowerContext& context, bool scatter, std::vector<Candidate>& found) {
  const Shape data = context.in_shape(0);
  const Shape indices = context.in_shape(1);
  const auto batch = static_cast<std::size_t>(scatter ? 0 : context.node.attributes.integer("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(indices.back());
  if (batch + depth > data.size() || batch >= indices.size()) return;
  kernels::GatherNDDesc desc;
  desc.element_size = dtype_size(context.in(0).dtype);
  desc.batch = element_count(std::span(data).first(batch));
  desc.indexed_shape.assign(data.begin() + static_cast<std::ptrdiff_t>(batch),
                            data.begin() + static_cast<std::ptrdiff_t>(batch + depth));
  desc.tuples = element_count(std::span(indices).subspan(batch, indices.size() - 1 - batch));
  desc.slice = element_count(std::span(data).subspan(batch + depth));
  desc.index_type = context.in(1).dtype;
  offer<kernels::GatherND>(scatter ? "hone scatter nd" : "hone gather nd", context, desc, scatter, found);
}

}  // namespace

void lower_indexing(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const bool elements = node.op == "GatherElements" || node.op == "ScatterElements";
  const bool tuples = node.op == "GatherND" || node.op == "ScatterND";
  const bool scatter = node.op.starts_with("Scatter");
  if ((!elements && !tuples) || context.in(0).dtype == DType::kString ||
      dtype_size(context.in(0).dtype) == 0 || context.in_shape(0).empty() || context.in_shape(1).empty())
    return;
  if (scatter && node.attributes.text("reduction", "none") != "none") return;
  if (element_count(context.out_shape()) == 0 || element_count(context.in_shape(1)) == 0) return;
  if (elements) lower_elements(context, scatter, found);
  if (tuples) lower_nd(context, scatter, found);
}

}  // namespace hone::runtime::cpu
