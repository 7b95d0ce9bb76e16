#include "model/plan/sections.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XXH_NO_INLINE_HINTS 1  // with -Og GCC cannot inline what the header otherwise insists on
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hone::model {
namespace {

static_assert(std::endian::native == std::endian::little, "plan files are read and written as they lie");

constexpr std::array<char, 16> kPlanMagic = {'h', 'o',  'n',  'e',    ' ',  'p', 'l', 'a',
                                             'n', '\r', '\n', '\x1a', '\n', 0,   0,   0};
constexpr std::size_t kMostSections = 16;

struct Header {
  std::array<char, 16> magic = kPlanMagic;
  uint32_t format = kPlanFormat;
  uint32_t sections = 0;
  uint64_t file_bytes = 0;
  uint64_t checksum = 0;
  std::array<char, 24> zeros = {};
};
static_assert(sizeof(Header) == kSectionAlignment);

struct TableEntry {
  std::array<char, 8> name = {};
  uint64_t offset = 0, bytes = 0, checksum = 0;
};
static_assert(sizeof(TableEntry) == 32);

std::size_t padded(std::size_t bytes) {
  return (bytes + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

class Checksum {
 public:
  Checksum() { XXH3_64bits_reset(&state_); }
  void add(const void* data, std::size_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

uint64_t checksum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t checksum_of(Header header, std::span<const TableEntry> table) {
  header.checksum = 0;
  Checksum sum;
  sum.add(&header, sizeof header);
  sum.add(table.data(), table.size_bytes());
  return sum.value();
}

constexpr std::array<std::byte, kSectionAlignment> kZeros = {};

TableEntry entry_of(const SectionToWrite& section, std::size_t offset) {
  TableEntry entry;
  std::copy(section.name.begin(), section.name.end(), entry.name.begin());
  entry.offset = offset;
  Checksum sum;
  for (const auto& part : section.parts) {
    if (const std::size_t gap = padded(entry.bytes) - entry.bytes; gap > 0) {
      sum.add(kZeros.data(), gap);
      entry.bytes += gap;
    }
    sum.add(part.data(), part.size());
    entry.bytes += part.size();
  }
  entry.checksum = sum.value();
  return entry;
}

Status pad(AtomicFile& file) {
  const std::size_t gap = padded(file.position()) - file.position();
  return gap == 0 ? Status() : file.write(std::span(kZeros).first(gap));
}

// --- reading ---

struct Table {
  Header header;
  std::vector<TableEntry> entries;
};

// What can be read of it whatever it says; nothing where the file ends before.
std::optional<Table> read_table(std::span<const std::byte> file) {
  Table table;
  if (file.size() < sizeof table.header) return std::nullopt;
  std::memcpy(&table.header, file.data(), sizeof table.header);
  const std::size_t count = table.header.sections;
  if (count > kMostSections || file.size() < sizeof(Header) + count * sizeof(TableEntry)) return std::nullopt;
  table.entries.resize(count);
  if (count > 0) std::memcpy(table.entries.data(), file.data() + sizeof(Header), count * sizeof(TableEntry));
  return table;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

bool lies_in(const TableEntry& entry, std::size_t file_bytes) {
  return entry.offset <= file_bytes && entry.bytes <= file_bytes - entry.offset;
}

Error damaged(std::string_view what) {
  return corrupt(fmt::format("the plan is damaged: {}; make it anew from the model", what));
}

}  // namespace

bool is_plan(std::string_view beginning) {
  // Without the line ends: a file whose have been changed is a damaged plan, no model.
  return beginning.starts_with("hone plan\r") || beginning.starts_with("hone plan\n");
}

Status write_sections(AtomicFile& file, std::span<const SectionToWrite> sections) {
  Header header;
  header.sections = static_cast<uint32_t>(sections.size());
  std::vector<TableEntry> table;
  std::size_t at = padded(sizeof header + sections.size() * sizeof(TableEntry));
  for (const SectionToWrite& section : sections) {
    table.push_back(entry_of(section, at));
    header.file_bytes = at + table.back().bytes;
    at = padded(header.file_bytes);
  }
  header.checksum = checksum_of(header, table);
  HONE_CHECK(file.write(std::as_bytes(std::span(&header, 1))));
  HONE_CHECK(file.write(std::as_bytes(std::span(table))));
  for (const SectionToWrite& section : sections) {
    HONE_CHECK(pad(file));
    for (const auto& part : section.parts) {
      HONE_CHECK(pad(file));
      HONE_CHECK(file.write(part));
    }
  }
  return {};
}

Result<std::vector<Section>> read_sections(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!is_plan(text)) return invalid("is no plan that hone optimize has written");
  if (file.size() < sizeof(Header)) return damaged("it ends within its header");
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kPlanMagic) return damaged("its first bytes are not a plan's");
  if (header.format != kPlanFormat)
    return unsupported(
        fmt::format("the plan has format {}, and this hone reads format {}: it was made by another "
                    "version, or is damaged; make it anew from the model",
                    header.format, kPlanFormat));
  if (header.file_bytes != file.size())
    return damaged(fmt::format("it has {} bytes, of {} that were written", file.size(), header.file_bytes));
  const std::optional<Table> table = read_table(file);
  if (!table || checksum_of(table->header, table->entries) != header.checksum)
    return damaged("its table of sections is not what was written");
  std::vector<Section> sections;
  std::size_t end = sizeof(Header) + table->entries.size() * sizeof(TableEntry);
  for (const TableEntry& entry : table->entries) {
    const std::string name(entry.name.begin(), std::find(entry.name.begin(), entry.name.end(), '\0'));
    if (entry.offset != padded(end) || !lies_in(entry, file.size()) ||
        !all_zero(file.subspan(end, entry.offset - end)))
      return damaged("its sections do not follow each other");
    end = entry.offset + entry.bytes;
    sections.push_back({name, file.subspan(entry.offset, entry.bytes)});
    if (checksum_of(sections.back().bytes) != entry.checksum)
      return damaged(fmt::format("section '{}' is not what was written", name));
  }
  if (end != file.size()) return damaged("there is something behind its last section");
  return sections;
}

void seal_sections(std::span<std::byte> file) {
  std::optional<Table> table = read_table(file);
  if (!table) return;
  for (TableEntry& entry : table->entries)
    if (lies_in(entry, file.size())) entry.checksum = checksum_of(file.subspan(entry.offset, entry.bytes));
  table->header.checksum = checksum_of(table->header, table->entries);
  std::memcpy(file.data(), &table->header, sizeof(Header));
  if (table->entries.empty()) return;
  std::memcpy(file.data() + sizeof(Header), table->entries.data(),
              table->entries.size() * sizeof(TableEntry));
}

}  // namespace hone::model
