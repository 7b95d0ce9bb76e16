#include "observe/inject/loaded_code.h"

#include <cstdlib>
#include <cstring>

#include <elf.h>

#include "observe/inject/cupti_profiler_abi.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using cupti::Result;
namespace {

constexpr size_t kMostCodeBytes = 256 << 20;

// What CUPTI says of cubins without any device; both are null where it is too old.
struct CubinFunctions {
  Result (*checksum)(cupti::CubinCrc*) = nullptr;
  Result (*line)(cupti::SourceLine*) = nullptr;

  explicit CubinFunctions(const Cupti& cupti)
      : checksum(cupti.find<decltype(checksum)>("cuptiGetCubinCrc")),
        line(cupti.find<decltype(line)>("cuptiGetSassToSourceCorrelation")) {}
};

}  // namespace

bool has_source_lines(const void* cubin, size_t bytes) {
  const auto* begin = static_cast<const char*>(cubin);
  Elf64_Ehdr file;
  if (bytes < sizeof(file)) return false;
  std::memcpy(&file, begin, sizeof(file));
  if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_shentsize < sizeof(Elf64_Shdr)) return false;
  const auto section = [&](size_t index, Elf64_Shdr& header) {
    const uint64_t at = file.e_shoff + index * file.e_shentsize;
    if (at > bytes || bytes - at < sizeof(header)) return false;
    return std::memcpy(&header, begin + at, sizeof(header)), true;
  };
  Elf64_Shdr names, each;
  if (!section(file.e_shstrndx, names)) return false;
  constexpr const char kLines[] = ".debug_line";
  for (size_t i = 0; i < file.e_shnum && section(i, each); ++i) {
    const uint64_t at = names.sh_offset + each.sh_name;
    if (at <= bytes && bytes - at >= sizeof(kLines) && std::memcmp(begin + at, kLines, sizeof(kLines)) == 0)
      return true;
  }
  return false;
}

LoadedCode::~LoadedCode() {
  for (const Cubin& cubin : cubins_) std::free(cubin.copy);
}

LoadedCode::Cubin* LoadedCode::find(uint64_t checksum) {
  for (Cubin& cubin : cubins_)
    if (cubin.checksum == checksum) return &cubin;
  return nullptr;
}

void LoadedCode::loaded(const Cupti& cupti, const void* cubin, size_t bytes) {
  if (!cubin || bytes == 0) return;
  try {
    add(cupti, cubin, bytes);
  } catch (...) {  // memory is short: the code counts as unseen
  }
}

void LoadedCode::add(const Cupti& cupti, const void* cubin, size_t bytes) {
  const CubinFunctions functions(cupti);
  auto asking = cupti::parameters<cupti::CubinCrc>();
  asking.cubin = cubin;
  asking.cubin_bytes = bytes;
  if (!functions.checksum || functions.checksum(&asking) != Result::kSuccess) return;
  const bool has_lines = has_source_lines(cubin, bytes);
  Locked locked(lock_);
  Cubin* known = find(asking.crc);
  if (known && (known->has_lines || !has_lines)) return;
  if (!known) known = &cubins_.emplace_back(Cubin{asking.crc, nullptr, bytes, has_lines});
  known->has_lines = has_lines;
  known->bytes = bytes;
  if (!has_lines || bytes > kMostCodeBytes - bytes_) return;
  known->copy = std::malloc(bytes);
  if (!known->copy) return;
  std::memcpy(known->copy, cubin, bytes);
  bytes_ += bytes;
}

SourcePlace LoadedCode::place_of(const Cupti& cupti, uint64_t cubin, const char* function, uint64_t offset) {
  const CubinFunctions functions(cupti);
  Locked locked(lock_);
  const Cubin* code = find(cubin);
  SourcePlace place;
  if (!code || !functions.line || (code->has_lines && !code->copy)) return place;
  place.known = segments::LineInfo::kNone;
  if (!code->has_lines) return place;
  auto asking = cupti::parameters<cupti::SourceLine>();
  asking.cubin = code->copy;
  asking.cubin_bytes = code->bytes;
  asking.function = function;
  asking.offset = offset;
  if (functions.line(&asking) == Result::kSuccess && asking.file && *asking.file && asking.line > 0) {
    place.known = segments::LineInfo::kKnown;
    place.line = asking.line;
    if (asking.folder && *asking.folder && *asking.file != '/') place.file = std::string(asking.folder) + '/';
    place.file += asking.file;
  }
  std::free(asking.file);
  std::free(asking.folder);
  return place;
}

}  // namespace hone::observe::inject
