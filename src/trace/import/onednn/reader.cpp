#include "trace/import/onednn/reader.h"

#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "trace/import/onednn/line.h"
#include "trace/import/trace_builder.h"

namespace hone::trace::onednn {
namespace {

constexpr std::size_t kMostVerboseBytes = std::size_t{2} << 30;
constexpr double kMostMs = 1e12;

}  // namespace

Result<ImportedFile> read_onednn(ByteSource& source) {
  HONE_ASSIGN(const std::string text, read_all(source, kMostVerboseBytes));
  TraceBuilder builder;
  builder.set_process(1, "a program on oneDNN");
  const TrackId thread = builder.thread(1);
  std::map<std::string, OperatorId> operators;
  double first_ms = -1, at_ms = 0;
  bool stamped = true;
  std::size_t lost = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::optional<Execution> execution = parse_line(line);
    if (!execution) {
      lost += is_verbose_line(line) && line.find(",exec,") != std::string_view::npos ? 1 : 0;
      continue;
    }
    if (execution->start_ms) {
      if (first_ms < 0) first_ms = *execution->start_ms;
      at_ms = std::max(at_ms, *execution->start_ms - first_ms);
    } else {
      stamped = false;
    }
    if (execution->ms > kMostMs || at_ms > kMostMs) continue;
    const std::string name = execution->op.kind;
    auto at = operators.find(execution->op.name);
    if (at == operators.end())
      at = operators.emplace(execution->op.name, builder.trace.add_operator(execution->op)).first;
    builder.add({std::llround(at_ms * 1e6), std::llround(execution->ms * 1e6), thread,
                 builder.trace.strings.intern(name), Category::kOperator, kNoStep, at->second, 0});
    at_ms += execution->ms;  // where nothing says when, one follows the other
  }
  if (builder.size() == 0) return invalid("a verbose stream of oneDNN in which no primitive ran");
  ImportedFile file = std::move(builder).finish(0, false);
  Meta& meta = file.trace.meta;
  meta.producer = "oneDNN";
  meta.device = "cpu";
  meta.lost = lost;
  if (!stamped)
    meta.warnings.emplace_back(
        "the lines of oneDNN have no times, so its primitives are shown one behind the other, and what the "
        "program did "
        "between them is not known: set ONEDNN_VERBOSE_TIMESTAMP=1, too");
  meta.ranks.emplace_back();
  file.bytes = text.size();
  return file;
}

}  // namespace hone::trace::onednn
