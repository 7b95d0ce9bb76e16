// The frame of a plan file: a header, a table, and sections whose bytes mean nothing here. Every byte is covered by a
// checksum or has to be zero, so that a damaged file is told before anything in it is believed. Numbers are
// little-endian.
//
//   0   "hone plan\r\n\x1a\n" and three zeros   (line ends changed on the way damage it)
//   16  u32 format, u32 sections, u64 bytes of the file, u64 checksum of the 64 bytes here (this field zero) and the table
//   40  zeros up to 64
//   64  for each section: its name in 8 bytes, u64 offset, u64 bytes, u64 checksum
//       the sections, each at a multiple of 64, zeros between them
//
// Checksums are XXH3, 64 bits: against accidents, no defence against somebody who makes a file on purpose. What is in
// the sections is checked all the same (plan_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace hone::model {

inline constexpr uint32_t kPlanFormat = 1;
inline constexpr std::size_t kSectionAlignment = 64;

// Whether a file that begins so means to be a plan.
bool is_plan(std::string_view beginning);

// A section to be written: parts one after another, each padded with zeros to kSectionAlignment but the last.
struct SectionToWrite {
  std::string_view name;  // 8 characters at most
  std::vector<std::span<const std::byte>> parts;
};
Status write_sections(AtomicFile& file, std::span<const SectionToWrite> sections);

struct Section {
  std::string name;
  std::span<const std::byte> bytes;
};
// The sections in the file's order; they are parts of `file`. An error where the file is no plan, of another format, cut
// short or damaged.
Result<std::vector<Section>> read_sections(std::span<const std::byte> file);

// Makes all checksums right, as far as the table can be read: for tests and fuzzing of what lies behind them.
void seal_sections(std::span<std::byte> file);

}  // namespace hone::model
