#include "trace/import/xplane/profile.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace hone::trace::xplane {
namespace {

using enum StatName;

// In alphabetical order of the schema's names.
constexpr std::pair<std::string_view, StatName> kStatNames[] = {
    {"_ct", kConsumerType},
    {"_pt", kProducerType},
    {"bytes_accessed", kBytesAccessed},
    {"compute_cap_major", kComputeMajor},
    {"compute_cap_minor", kComputeMinor},
    {"core_count", kCoreCount},
    {"correlation_id", kCorrelationId},
    {"cuda_graph_node_id", kGraphNode},
    {"device_type_string", kDeviceType},
    {"eager_op", kEagerOp},
    {"flops", kFlops},
    {"gpu_device_name", kDeviceName},
    {"hlo_category", kHloCategory},
    {"hlo_module", kHloModule},
    {"hlo_op", kHloOp},
    {"hlo_proto", kHloProto},
    {"is_func", kIsFunction},
    {"jax_version", kJaxVersion},
    {"kernel_details", kKernelDetails},
    {"memcpy_details", kMemcpyDetails},
    {"memory_size", kMemorySize},
    {"memset_details", kMemsetDetails},
    {"process_id", kProcessId},
    {"profile_start_time", kProfileStart},
    {"program_id", kProgramId},
    {"run_id", kRunId},
    {"shape_with_layout", kShape},
    {"source", kSource},
    {"step_num", kStepNumber},
    {"tf_function_call", kTfFunctionCall},
    {"tf_op", kTfOp},
};

}  // namespace

StatName stat_name(std::string_view name) {
  if (name == "Hlo Proto") return kHloProto;
  if (name == "Memset_details") return kMemsetDetails;
  const auto at =
      std::lower_bound(std::begin(kStatNames), std::end(kStatNames), name,
                       [](const auto& row, std::string_view wanted) { return row.first < wanted; });
  return at != std::end(kStatNames) && at->first == name ? at->second : kOther;
}

const Stat* find_stat(std::span<const Stat> stats, StatName name) {
  for (std::size_t i = stats.size(); i-- > 0;)
    if (stats[i].name == name) return &stats[i];
  return nullptr;
}

}  // namespace hone::trace::xplane
