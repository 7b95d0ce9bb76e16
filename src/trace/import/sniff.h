// What a file is, from its first bytes: names and suffixes are not asked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace hone::trace {

enum class TraceFormat : uint8_t {
  kUnknown,
  kJson,      // PyTorch's profiler, or another writer of Chrome's format
  kPerfetto,  // protobuf
  kSqlite,    // Nsight Systems
  kNcuCsv,    // Nsight Compute
  kOneDnn,    // what oneDNN prints with ONEDNN_VERBOSE=1
  kXplane,    // a profile of XLA's tracer: JAX, TensorFlow, torch_xla
  kViewer,    // the same as TensorBoard's trace viewer shows it
  kSnapshot,  // of PyTorch's allocator, a pickle
  kSegment,   // a process as hone's own recorder wrote it down (segments/record.h)
};

struct Sniffed {
  TraceFormat format = TraceFormat::kUnknown;
  std::string looks_like;  // of an unknown one, in words: "a zip archive; unpack it first"
  bool is_onnx = false;    // no trace, but a model
  bool is_lost = false;    // what it held is not there: an empty file, or zeros
};

inline constexpr std::size_t kSniffBytes = 4096;

// `first` are the first bytes, decompressed: kSniffBytes of them where the file has so many.
Sniffed sniff(std::string_view first);

// What hone reads, for messages.
std::string_view readable_formats();

// What to tell who gave a file of an unknown format for a trace: what it looks like, and what to do first
// where its name says that.
std::string what_instead(const Sniffed& found, const std::filesystem::path& path);

}  // namespace hone::trace
