#include "kernels/cuda/gather_plan.h"

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kWidestGatherUnit = 16;  // bytes of one load

std::string wrapped_index(std::string_view place, int64_t extent) {
  return fmt::format(
      "    hone_i64 index = (hone_i64)indices[{0}];\n    if (index < 0) index += {1}LL;\n"
      "    if (index < 0 || index >= {1}LL) return -1;\n",
      place, extent);
}

GatherPlan plan_of(const GatherDesc& desc) {
  GatherPlan plan{.items = desc.outer * desc.indices,
                  .places = desc.outer * desc.axis,
                  .run = desc.inner * static_cast<int64_t>(desc.element_size),
                  .index_type = desc.index_type,
                  .locate = {}};
  plan.locate =
      wrapped_index(fmt::format("item % (hone_item){}", desc.indices), desc.axis) +
      fmt::format("    return (hone_i64)(item / (hone_item){}) * {}LL + index;\n", desc.indices, desc.axis);
  return plan;
}

GatherPlan plan_of(const ElementsDesc& desc) {
  GatherPlan plan{.items = element_count(desc.index_shape),
                  .places = element_count(desc.data_shape),
                  .run = static_cast<int64_t>(desc.element_size),
                  .index_type = desc.index_type,
                  .locate = {}};
  const std::vector<int64_t> strides = row_major_strides(desc.data_shape);
  const auto along = static_cast<std::size_t>(desc.axis);
  plan.locate = wrapped_index("item", desc.data_shape[along]) +
                fmt::format("    hone_i64 at = index * {}LL;\n", strides[along]);
  for (std::size_t axis = desc.index_shape.size(); axis-- > 0;) {
    const int64_t extent = desc.index_shape[axis];
    if (axis != along && extent > 1)
      plan.locate +=
          fmt::format("    at += (hone_i64)(item % (hone_item){}) * {}LL;\n", extent, strides[axis]);
    if (axis > 0) plan.locate += fmt::format("    item /= (hone_item){};\n", extent);
  }
  plan.locate += "    return at;\n";
  return plan;
}

GatherPlan plan_of(const GatherNDDesc& desc) {
  GatherPlan plan{.items = desc.batch * desc.tuples,
                  .places = desc.batch * element_count(desc.indexed_shape),
                  .run = desc.slice * static_cast<int64_t>(desc.element_size),
                  .index_type = desc.index_type,
                  .locate = {}};
  plan.locate = fmt::format("    hone_i64 at = (hone_i64)(item / (hone_item){});\n", desc.tuples);
  for (std::size_t k = 0; k < desc.indexed_shape.size(); ++k) {
    plan.locate += "    {\n" +
                   wrapped_index(fmt::format("(hone_i64)item * {}LL + {}", desc.indexed_shape.size(), k),
                                 desc.indexed_shape[k]) +
                   fmt::format("    at = at * {}LL + index;\n    }}\n", desc.indexed_shape[k]);
  }
  plan.locate += "    return at;\n";
  return plan;
}

}  // namespace

Result<GatherPlan> checked_plan(const GatherForm& form) {
  GatherPlan plan = std::visit([](const auto& desc) { return plan_of(desc); }, form);
  if (plan.index_type != DType::kI32 && plan.index_type != DType::kI64)
    return unsupported(fmt::format("indices of {}", dtype_name(plan.index_type)));
  if (plan.items < 1 || plan.run < 1) return unsupported("a gather of nothing");
  return plan;
}

GatherUnits units_of(const GatherPlan& plan) {
  GatherUnits units;
  while (units.bytes < kWidestGatherUnit && plan.run % (units.bytes * 2) == 0) units.bytes *= 2;
  units.of_run = plan.run / units.bytes;
  units.all = plan.items * units.of_run;
  units.type = units.bytes == 1   ? "unsigned char"
               : units.bytes == 2 ? "unsigned short"
                                  : fmt::format("HoneVector<unsigned, {}>", units.bytes / 4);
  return units;
}

std::string gather_prelude(const GatherPlan& plan, const GatherUnits& units) {
  const std::string_view index = plan.index_type == DType::kI32 ? "int" : "hone_i64";
  return std::string(kBasePrelude) +
         fmt::format(
             "typedef {} HoneIndex;\ntypedef {} HoneUnit;\ntypedef {} hone_item;\n"
             "constexpr hone_i64 kItems = {}, kPlaces = {}, kRun = {}, kUnits = {};\n"
             "HONE_FUNCTION hone_i64 hone_place(const HoneIndex* indices, hone_item item) {{\n{}}}\n",
             index, units.type, units.all < (int64_t{1} << 31) ? "unsigned" : "unsigned long long",
             plan.items, plan.places, units.of_run, units.all, plan.locate) +
         R"cuda(
// The first to find an error tells it.
HONE_FUNCTION void hone_tell(unsigned long long* fault, unsigned long long word) {
  if (fault) atomicCAS(fault, 0ull, word);
}
HONE_FUNCTION hone_i64 hone_thread() { return (hone_i64)blockIdx.x * blockDim.x + threadIdx.x; }
)cuda";
}

}  // namespace hone::kernels::gpu
