#include "observe/host/mappings.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <elf.h>
#include <fmt/format.h>

#include "core/file.h"

namespace hone::observe {
namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

uint64_t hexadecimal(std::string_view word) {
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, 16);
  return value;
}

template <typename Value>
std::optional<Value> value_at(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof(Value));
  return value;
}

bool has_text(std::string_view bytes, uint64_t offset, std::string_view text) {
  return offset <= bytes.size() && bytes.size() - offset > text.size() &&
         bytes.substr(offset, text.size()) == text && bytes[offset + text.size()] == '\0';
}

// The symbol's address as the file was linked.
std::optional<uint64_t> linked_address(std::string_view file, const Elf64_Ehdr& header,
                                       std::string_view symbol) {
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    const auto table = value_at<Elf64_Shdr>(file, header.e_shoff + uint64_t{i} * header.e_shentsize);
    if (!table || (table->sh_type != SHT_DYNSYM && table->sh_type != SHT_SYMTAB)) continue;
    const auto names =
        value_at<Elf64_Shdr>(file, header.e_shoff + uint64_t{table->sh_link} * header.e_shentsize);
    if (!names) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto entry = value_at<Elf64_Sym>(file, table->sh_offset + at);
      if (!entry) break;
      if (entry->st_shndx != SHN_UNDEF && has_text(file, names->sh_offset + entry->st_name, symbol))
        return entry->st_value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Mapping> parse_mappings(std::string_view text) {
  std::vector<Mapping> mappings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view range = next_word(line), rights = next_word(line), offset = next_word(line);
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos || rights.size() < 3) continue;
    next_word(line);  // device
    next_word(line);  // inode
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mappings.push_back({hexadecimal(range.substr(0, dash)), hexadecimal(range.substr(dash + 1)),
                        hexadecimal(offset), rights[2] == 'x', std::string(line)});
  }
  return mappings;
}

std::vector<Mapping> mappings_of(int pid) {
  const Result<std::string> text = read_file(fmt::format("/proc/{}/maps", pid));
  return text.ok() ? parse_mappings(*text) : std::vector<Mapping>();
}

std::optional<uint64_t> symbol_address(int pid, const Mapping& mapping, std::string_view symbol) {
  // As the process sees it, which may be in a container of its own.
  const auto mapped = MappedFile::open(fmt::format("/proc/{}/root{}", pid, mapping.path));
  if (!mapped.ok()) return std::nullopt;
  const std::string_view file = (*mapped)->text();
  const auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize < sizeof(Elf64_Shdr))
    return std::nullopt;
  const auto linked = linked_address(file, *header, symbol);
  if (!linked) return std::nullopt;
  for (uint16_t i = 0; i < header->e_phnum; ++i) {
    const auto part = value_at<Elf64_Phdr>(file, header->e_phoff + uint64_t{i} * header->e_phentsize);
    if (!part || part->p_type != PT_LOAD) continue;
    const uint64_t page = ~uint64_t{0xfff};
    if ((part->p_offset & page) <= mapping.offset && mapping.offset < part->p_offset + part->p_filesz)
      return mapping.start - mapping.offset + part->p_offset - part->p_vaddr + *linked;
  }
  return std::nullopt;
}

}  // namespace hone::observe
