#include "trace/import/sniff.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "trace/segments/record.h"

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
    {"\x80"sv,
     "a Python pickle; export profiles with prof.export_chrome_trace(FILE), snapshots of memory with "
     "torch.cuda.memory._dump_snapshot(FILE)"},
}};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return is_space(c) || static_cast<unsigned char>(c) >= ' '; });
}

// Nsight Compute prints lines of its own ("==PROF== …") before the table's header, one for each kernel.
bool is_ncu_csv(std::string_view first) {
  if (first.find("==PROF== ") != std::string_view::npos && is_text(first)) return true;
  const bool header = first.find("\"Kernel Name\"") != std::string_view::npos;
  return header && first.find("\"ID\"") != std::string_view::npos;
}

// oneDNN prints among what the program prints.
bool is_onednn(std::string_view first) {
  for (const std::string_view mark : {"onednn_verbose,"sv, "dnnl_verbose,"sv})
    if (first.starts_with(mark) || first.find("\n" + std::string(mark)) != std::string_view::npos)
      return is_text(first);
  return false;
}

// A model in protobuf: field 1, the small number of the format's version, then one of the fields that writers
// put next (the producer, the domain, the model's version, a text, the graph, the opsets).
bool is_onnx(std::string_view first) {
  constexpr std::string_view kNext = "\x12\x1a\x22\x28\x32\x3a\x42";
  return first.size() >= 3 && first[0] == '\x08' && first[1] > 0 && first[1] < 32 &&
         kNext.find(first[2]) != std::string_view::npos;
}

// What JSON says of itself first, without spaces: "{"schema":1,".
std::string beginning_of(std::string_view text) {
  std::string compact;
  for (std::size_t i = 0; i < text.size() && compact.size() < 20; ++i)
    if (!is_space(text[i])) compact += text[i];
  return compact;
}

// JSON by its first key, that is no trace; empty: it may be one. PyTorch's traces begin with "schemaVersion".
std::string_view other_json(std::string_view text) {
  const std::string first = beginning_of(text);
  if (first.starts_with("{\"schema\":\""))
    return "an execution trace of PyTorch, which has no times; record with torch.profiler.profile and "
           "export_chrome_trace(FILE)";
  if (first.starts_with("{\"schema\":"))
    return "a report that hone wrote, not the recording; give the run folder that it lies in";
  return {};
}

// XLA's tracer writes these members before the events; those of others that write the second come after them.
bool is_viewer_json(std::string_view text) {
  const std::string_view members = text.substr(0, text.find("\"traceEvents\""));
  return text.starts_with('{') && members.find("\"highres-ticks\"") != std::string_view::npos &&
         members.find("\"displayTimeUnit\"") != std::string_view::npos &&
         members.find("\"schemaVersion\"") == std::string_view::npos;
}

// Texts that tools print of what was recorded, and the recording itself has another form.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSummaries = {{
    {"Total Time (ns)", "a summary of nsys stats; export the recording itself: nsys export --type sqlite"},
    {"Self CPU", "a table of key_averages(); export the profile with prof.export_chrome_trace(FILE)"},
}};

std::string text_like(std::string_view first) {
  for (const auto& [words, what] : kSummaries)
    if (first.find(words) != std::string_view::npos) return std::string(what);
  return "a text of another kind";
}

bool is_tar(std::string_view first) {
  constexpr std::size_t kMagicAt = 257;
  return first.size() > kMagicAt && first.substr(kMagicAt).starts_with("ustar");
}

// A Perfetto trace is a list of packets: field 1, a length, then a packet's own fields.
bool is_perfetto(std::string_view first) {
  if (first.size() < 4 || first[0] != '\x0a') return false;
  std::size_t at = 1;
  while (at < first.size() && at < 6 && (first[at] & '\x80') != 0) ++at;
  const auto byte = static_cast<unsigned char>(at + 1 < first.size() ? first[at + 1] : 0);
  return byte >= 8 && (byte & 7) != 3 && (byte & 7) != 4 && (byte & 7) < 6;
}

// The beginning of a field of a message: a varint of the number and the wire type.
struct ProtobufField {
  uint64_t number = 0;
  unsigned wire = 0;
  uint64_t value = 0;  // of a varint, or the length of what follows
  bool whole = false;
};

ProtobufField take_field(std::string_view& bytes) {
  const auto varint = [&](uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  ProtobufField field;
  uint64_t key = 0;
  if (!varint(key)) return field;
  field.number = key >> 3;
  field.wire = static_cast<unsigned>(key & 7);
  field.whole = (field.wire == 0 || field.wire == 2) && varint(field.value);
  return field;
}

// A pickle of a dictionary with these keys, of which the first come first.
bool is_snapshot(std::string_view first) {
  constexpr std::size_t kWithin = 256;
  if (first.size() < 2 || first[0] != '\x80' || first[1] < 2 || first[1] > 5) return false;
  first = first.substr(0, kWithin);
  return first.find("segments"sv) != std::string_view::npos ||
         first.find("device_traces"sv) != std::string_view::npos;
}

// An XPlane file is a list of planes (field 1); a plane begins with its id (field 1, a varint), if that is not 0,
// and its name (field 2, a text): one of a host or a device.
bool is_xplane(std::string_view first) {
  ProtobufField field = take_field(first);
  if (!field.whole || field.number != 1 || field.wire != 2) return false;
  field = take_field(first);
  if (field.whole && field.number == 1 && field.wire == 0) field = take_field(first);
  if (!field.whole || field.number != 2 || field.wire != 2) return false;
  constexpr std::array<std::string_view, 7> kNames = {
      "/host:", "/device:", "/virtualdevice:", "#Chip", "Task Environment", "Host CPUs", "Syscalls"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return first.starts_with(name); });
}

}  // namespace

Sniffed sniff(std::string_view first) {
  if (first.empty()) return {.format = TraceFormat::kUnknown, .looks_like = "an empty file", .is_lost = true};
  if (std::all_of(first.begin(), first.end(), [](char c) { return c == '\0'; }))
    return {.format = TraceFormat::kUnknown,
            .looks_like = "zeros, as a copy or download that was interrupted leaves them",
            .is_lost = true};
  if (first.starts_with("SQLite format 3\0"sv)) return {TraceFormat::kSqlite, {}};
  if (is_snapshot(first)) return {TraceFormat::kSnapshot, {}};
  if (first.starts_with(std::string_view(segments::kMagic.data(), segments::kMagic.size())))
    return {TraceFormat::kSegment, {}};
  if (is_ncu_csv(first)) return {TraceFormat::kNcuCsv, {}};
  if (is_onednn(first)) return {TraceFormat::kOneDnn, {}};
  std::string_view text = first.substr(first.starts_with("\xef\xbb\xbf") ? 3 : 0);
  const auto begin = std::find_if_not(text.begin(), text.end(), is_space);
  text.remove_prefix(static_cast<std::size_t>(begin - text.begin()));
  if (const std::string_view other = other_json(text); !other.empty())
    return {TraceFormat::kUnknown, std::string(other)};
  if (is_viewer_json(text)) return {TraceFormat::kViewer, {}};
  if (text.starts_with('{') || text.starts_with('[')) return {TraceFormat::kJson, {}};
  for (const auto& [bytes, what] : kOthers)
    if (first.starts_with(bytes)) return {TraceFormat::kUnknown, std::string(what)};
  if (is_onnx(first))
    return {.format = TraceFormat::kUnknown,
            .looks_like = "an ONNX model; hone lab measures and explains those",
            .is_onnx = true};
  if (is_xplane(first)) return {TraceFormat::kXplane, {}};
  if (is_perfetto(first) && !is_text(first)) return {TraceFormat::kPerfetto, {}};
  if (is_tar(first))
    return {TraceFormat::kUnknown, "a tar archive; unpack it first, and give the folder of its traces"};
  return {TraceFormat::kUnknown, is_text(first) ? text_like(first) : "data of another kind"};
}

std::string_view readable_formats() {
  return "hone reads traces of PyTorch's profiler (JSON; also .gz, .zst), exports of Nsight Systems "
         "(.sqlite) and Nsight Compute (--csv), profiles of JAX and TensorFlow (.xplane.pb), PyTorch's "
         "snapshots of memory (.pickle), what oneDNN prints (ONEDNN_VERBOSE=1), its own run folders, "
         "their Perfetto files and segments";
}

std::string what_instead(const Sniffed& found, const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  std::string_view first_do;
  if (suffix == ".nsys-rep" || suffix == ".qdrep")
    first_do = " Export it first: nsys export --type sqlite FILE.";
  if (suffix == ".ncu-rep") first_do = " Export it first: ncu --import FILE --page raw --csv > FILE.csv.";
  return fmt::format("this is {}.{}", found.looks_like, first_do);
}

}  // namespace hone::trace
