#include "trace/import/xplane/reader.h"

#include <fmt/format.h>

#include "trace/import/xplane/assemble.h"
#include "trace/import/xplane/space.h"
#include "trace/import/xplane/viewer_json.h"

namespace hone::trace::xplane {
namespace {

constexpr std::size_t kMostMessages = 5;

void warn_of_impossible(uint64_t count, Meta& meta) {
  if (count > 0)
    meta.warnings.push_back(
        fmt::format("{} event{} left out: of no time that a clock shows", count, count == 1 ? "" : "s"));
}

}  // namespace

Result<ImportedFile> read_xplane(std::string_view bytes, const FileProgress& progress) {
  Assembler assembler;
  HONE_ASSIGN(const SpaceNotes notes, read_space(bytes, assembler, progress));
  Result<ImportedFile> made = assembler.finish();
  if (!made.ok()) {
    Error failure = made.error();
    if (notes.cut_off)
      failure.message = "the file ends before any event: get the whole file, or record again";
    return failure;
  }
  ImportedFile file = *std::move(made);
  file.bytes = bytes.size();
  Meta& meta = file.trace.meta;
  for (std::size_t i = 0; i < std::min(notes.messages.size(), kMostMessages); ++i)
    meta.warnings.push_back(fmt::format("the profiler says: {}", notes.messages[i]));
  if (notes.cut_off) meta.warnings.emplace_back("the file is cut off or damaged; what could be read is here");
  warn_of_impossible(notes.impossible, meta);
  meta.cut_off = notes.cut_off;
  meta.lost = notes.impossible;
  return file;
}

Result<ImportedFile> read_viewer_json(ByteSource& source, const FileProgress& progress) {
  Interner texts;
  Assembler assembler;
  HONE_ASSIGN(const ViewerNotes notes, read_viewer(source, texts, assembler, progress));
  Result<ImportedFile> made = assembler.finish();
  if (!made.ok()) {
    Error failure = made.error();
    if (!source.trouble().empty())
      failure.message = fmt::format("no events: {}; get the whole file", source.trouble());
    return failure;
  }
  ImportedFile file = *std::move(made);
  file.bytes = notes.bytes;
  Meta& meta = file.trace.meta;
  if (!source.trouble().empty()) meta.warnings.push_back(source.trouble() + "; what came before is here");
  if (notes.cut_off && source.trouble().empty())
    meta.warnings.emplace_back("the file ends before its list of events does; what came before is here");
  if (notes.lost > 0)
    meta.warnings.push_back(
        fmt::format("{} pieces of the text are not JSON: their events are lost", notes.lost));
  warn_of_impossible(notes.impossible, meta);
  meta.warnings.emplace_back(
      "the trace viewer's JSON does not tell what operators cost: explain the .xplane.pb that was written "
      "with it");
  meta.cut_off = notes.cut_off || !source.trouble().empty();
  meta.lost = notes.impossible + notes.lost;
  return file;
}

}  // namespace hone::trace::xplane
