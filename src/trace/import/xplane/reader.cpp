#include "trace/import/xplane/reader.h"

#include <fmt/format.h>

#include "trace/import/xplane/assemble.h"
#include "trace/import/xplane/space.h"

namespace hone::trace::xplane {
namespace {

constexpr std::size_t kMostMessages = 5;

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
  if (notes.impossible > 0)
    meta.warnings.push_back(fmt::format("{} event{} left out: of no time that a clock shows",
                                        notes.impossible, notes.impossible == 1 ? "" : "s"));
  meta.cut_off = notes.cut_off;
  meta.lost = notes.impossible;
  return file;
}

}  // namespace hone::trace::xplane
