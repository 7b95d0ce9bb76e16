#include "trace/link/names.h"

#include <optional>
#include <utility>
#include <vector>

namespace hone::trace::link {

void recognise_kernel(Trace& trace, StringId name) {
  if (!name.valid()) return;
  if (trace.kernels.size() < trace.strings.size()) trace.kernels.resize(trace.strings.size());
  trace.kernels[name.index] = kernel_family(trace.strings.text(name));
}

void recognise_names(Trace& trace) {
  std::vector<char> of_work(trace.strings.size(), 0);
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const StringId name = trace.spans.name[row];
    if (!name.valid() || trace.tracks[trace.spans.track[row].index].kind != TrackKind::kStream) continue;
    if (std::exchange(of_work[name.index], char{1}) == 0) recognise_kernel(trace, name);
  }
  std::vector<std::optional<CollectiveKind>> kinds(trace.collectives.empty() ? 0 : trace.strings.size());
  for (Collective& collective : trace.collectives) {
    if (!collective.name.valid()) continue;
    std::optional<CollectiveKind>& kind = kinds[collective.name.index];
    if (!kind) kind = collective_kind(trace.strings.text(collective.name));
    collective.kind = *kind;
  }
}

}  // namespace hone::trace::link
