// What is mapped where in a process (/proc/<pid>/maps), and what its ELF files say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::observe {

struct Mapping {
  uint64_t start = 0, end = 0;
  uint64_t offset = 0;  // in the file
  bool executable = false;
  std::string path;  // empty: no file

  bool contains(uint64_t address) const { return start <= address && address < end; }
};

std::vector<Mapping> parse_mappings(std::string_view text);
std::vector<Mapping> mappings_of(int pid);

// Where a symbol of an ELF file lies in a process that has mapped it; `mapping` is any mapping of the file. Nothing: no
// such file or symbol. 64-bit files of this machine's byte order.
std::optional<uint64_t> symbol_address(int pid, const Mapping& mapping, std::string_view symbol);

}  // namespace hone::observe
