#include "trace/link/link.h"

#include <fmt/format.h>

#include "trace/link/align.h"
#include "trace/link/carry_operators.h"
#include "trace/link/complete_inputs.h"
#include "trace/link/context.h"
#include "trace/link/counted_operators.h"
#include "trace/link/frames.h"
#include "trace/link/frameworks.h"
#include "trace/link/launches.h"
#include "trace/link/names.h"
#include "trace/link/operators.h"
#include "trace/link/repeats.h"
#include "trace/link/roles.h"
#include "trace/link/strides_by_gradients.h"
#include "trace/link/told_steps.h"
#include "trace/link/types_by_kernels.h"

namespace hone::trace {
namespace {

// Ranges and operators whose names say that the host loaded data or compiled then.
void categorise_host_work(Trace& trace, const std::vector<link::Role>& roles) {
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    Category& category = trace.spans.category[row];
    const StringId name = trace.spans.name[row];
    if (!name.valid() || trace.tracks[trace.spans.track[row].index].kind == TrackKind::kStream) continue;
    if (category == Category::kRegion && roles[name.index] == link::Role::kData) category = Category::kInput;
    if ((category == Category::kRegion || category == Category::kOperator) &&
        roles[name.index] == link::Role::kCompile)
      category = Category::kCompile;
  }
}

}  // namespace

Status link_trace(Trace& trace) {
  HONE_CHECK(trace.validate());
  trace.meta.framework = link::recognise_framework(trace);
  link::recognise_names(trace);
  link::recognise_frames(trace);
  const std::vector<link::Role> roles = link::roles_by_name(trace);
  categorise_host_work(trace, roles);
  SpanNesting nesting(trace);
  std::vector<link::DeviceWork> work = link::find_device_work(trace, nesting);
  const link::MarkedRanks marked = link::mark_steps(trace, nesting, work, roles);
  link::leave_out_other_steps(trace);
  link::assign_steps(trace, work);
  if (marked.numbered_by_hone) link::align_steps(trace, work);
  if (const int given = link::carry_operators(trace, marked.recorded, work); given > 0) {
    nesting = SpanNesting(trace);
    link::note_on_steps(
        trace, fmt::format("the operators and ranges of {} steps are those of steps that were recorded "
                           "with them, placed by their launches",
                           given));
  }
  link::complete_inputs(trace, nesting);
  link::type_inputs_by_kernels(trace, work);
  link::type_lists_by_kernels(trace, work);
  link::strides_by_gradients(trace);
  const link::Context context =
      link::find_context(trace, nesting, roles, link::recorded_steps_by_row(trace, marked.recorded));
  link::make_operators(trace, context, work);
  link::cost_by_counters(trace, work);
  link::find_repeats(trace, nesting);
  return {};
}

}  // namespace hone::trace
