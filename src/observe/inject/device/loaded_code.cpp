#include "observe/inject/device/loaded_code.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include <elf.h>

#include "observe/inject/cupti/cupti_profiler_abi.h"

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
  for (const auto* cubins : {&new_, &known_})
    for (const Cubin& cubin : *cubins) std::free(cubin.copy);
}

LoadedCode::Cubin* LoadedCode::find(uint64_t checksum) {
  for (Cubin& cubin : known_)
    if (cubin.checksum == checksum) return &cubin;
  return nullptr;
}

void LoadedCode::loaded(const void* cubin, size_t bytes) {
  if (!cubin || bytes == 0) return;
  Locked locked(lock_);
  if (bytes > kMostCodeBytes - bytes_) return;  // it counts as unseen
  void* copy = std::malloc(bytes);
  if (!copy) return;
  std::memcpy(copy, cubin, bytes);
  try {
    new_.push_back({0, copy, bytes});
    bytes_ += bytes;
  } catch (...) {
    std::free(copy);
  }
}

void LoadedCode::drop_copy(Cubin& cubin) {
  std::free(std::exchange(cubin.copy, nullptr));
  bytes_ -= cubin.bytes;
}

void LoadedCode::know_what_was_loaded(const Cupti& cupti) {
  const CubinFunctions functions(cupti);
  if (!functions.checksum) return;
  for (Cubin& cubin : std::exchange(new_, {})) {
    auto asking = cupti::parameters<cupti::CubinCrc>();
    asking.cubin = cubin.copy;
    asking.cubin_bytes = cubin.bytes;
    const bool has_checksum = functions.checksum(&asking) == Result::kSuccess;
    cubin.checksum = asking.crc;
    if (!has_checksum || !has_source_lines(cubin.copy, cubin.bytes)) drop_copy(cubin);
    Cubin* known = find(cubin.checksum);
    if (has_checksum && !known) known_.push_back(cubin);
    if (!known || !cubin.copy) continue;
    if (known->copy) drop_copy(*known);
    *known = cubin;
  }
}

SourcePlace LoadedCode::place_of(const Cupti& cupti, uint64_t cubin, const char* function, uint64_t offset) {
  const CubinFunctions functions(cupti);
  Locked locked(lock_);
  SourcePlace place;
  try {
    know_what_was_loaded(cupti);
  } catch (...) {  // memory is short
    return place;
  }
  const Cubin* code = find(cubin);
  if (!code || !functions.line) return place;
  place.known = segments::LineInfo::kNone;
  if (!code->copy) return place;
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
