#include "trace/import/sniff.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hone::trace {
namespace {

using namespace std::string_view_literals;

// First bytes of what people pass by mistake.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kOthers = {{
    {"PK\x03\x04"sv, "a zip archive (or a file of torch.save); unpack it first"},
    {"\x7f"
     "ELF"sv,
     "a program"},
    {"%PDF"sv, "a PDF"},
    {"<!DOCTYPE"sv, "a web page"},
    {"<!doctype"sv, "a web page"},
    {"<html"sv, "a web page"},
    {"<?xml"sv, "XML"},
    {"\x89PNG"sv, "a picture"},
    {"\xff\xfe"sv, "a text in UTF-16, as Windows writes it; save it as UTF-8"},
    {"\xfe\xff"sv, "a text in UTF-16; save it as UTF-8"},
    {"\x1f\x8b"sv, "a file that was compressed twice; unpack it once"},
    {"\x28\xb5\x2f\xfd"sv, "a file that was compressed twice; unpack it once"},
    {"BZh"sv, "bzip2 data; unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     "xz data; unpack it first"},
    {"\x04\x22\x4d\x18"sv, "LZ4 data; unpack it first"},
    {"7z\xbc\xaf"sv, "a 7z archive; unpack it first"},
    {"version https://git-lfs"sv, "a Git LFS pointer; fetch the file itself with 'git lfs pull'"},
    {"QDSTRM"sv, "an unfinished Nsight Systems recording"},
    {"NVR\0"sv, "an Nsight Compute report; export it with 'ncu --import FILE --page raw --csv'"},
    {"\x80"sv, "a Python pickle; export the profile with prof.export_chrome_trace(FILE)"},
}};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return is_space(c) || static_cast<unsigned char>(c) >= ' '; });
}

// Nsight Compute prints lines of its own ("==PROF== …") before the table's header.
bool is_ncu_csv(std::string_view first) {
  const bool header = first.find("\"Kernel Name\"") != std::string_view::npos;
  return header && first.find("\"ID\"") != std::string_view::npos;
}

// A Perfetto trace is a list of packets: field 1, a length, then a packet's own fields.
bool is_perfetto(std::string_view first) {
  if (first.size() < 4 || first[0] != '\x0a') return false;
  std::size_t at = 1;
  while (at < first.size() && at < 6 && (first[at] & '\x80') != 0) ++at;
  const auto byte = static_cast<unsigned char>(at + 1 < first.size() ? first[at + 1] : 0);
  return byte >= 8 && (byte & 7) != 3 && (byte & 7) != 4 && (byte & 7) < 6;
}

}  // namespace

Sniffed sniff(std::string_view first) {
  if (first.empty()) return {TraceFormat::kUnknown, "an empty file"};
  if (std::all_of(first.begin(), first.end(), [](char c) { return c == '\0'; }))
    return {TraceFormat::kUnknown, "zeros, as a copy or download that was interrupted leaves them"};
  if (first.starts_with("SQLite format 3\0"sv)) return {TraceFormat::kSqlite, {}};
  if (is_ncu_csv(first)) return {TraceFormat::kNcuCsv, {}};
  std::string_view text = first.substr(first.starts_with("\xef\xbb\xbf") ? 3 : 0);
  const auto begin = std::find_if_not(text.begin(), text.end(), is_space);
  text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
  if (text.starts_with('{') || text.starts_with('[')) return {TraceFormat::kJson, {}};
  for (const auto& [bytes, what] : kOthers)
    if (first.starts_with(bytes)) return {TraceFormat::kUnknown, std::string(what)};
  if (is_perfetto(first) && !is_text(first)) return {TraceFormat::kPerfetto, {}};
  return {TraceFormat::kUnknown, is_text(first) ? "a text of another kind" : "data of another kind"};
}

std::string_view readable_formats() {
  return "hone reads traces of PyTorch's profiler (JSON; also .gz, .zst), exports of Nsight Systems "
         "(.sqlite) and Nsight Compute (--csv), its own run folders and their Perfetto files";
}

}  // namespace hone::trace
