#include "analyze/device/entry_traits.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/dtype.h"

namespace hone::analyze::device {
namespace {

struct FileWord {
  std::string_view name;
  EntryKind kind;
};

// Whole words of a name, as programs and libraries put them together: "read_batch", "numpy.load", "fwrite".
constexpr FileWord kFileWords[] = {
    {"read", EntryKind::kRead},    {"reads", EntryKind::kRead},   {"readline", EntryKind::kRead},
    {"fread", EntryKind::kRead},   {"pread", EntryKind::kRead},   {"load", EntryKind::kRead},
    {"loads", EntryKind::kRead},   {"write", EntryKind::kWrite},  {"writes", EntryKind::kWrite},
    {"fwrite", EntryKind::kWrite}, {"pwrite", EntryKind::kWrite}, {"save", EntryKind::kWrite},
    {"saves", EntryKind::kWrite},  {"dump", EntryKind::kWrite},   {"dumps", EntryKind::kWrite}};

EntryKind kind_of(trace::CollectiveKind collective) {
  switch (collective) {
    case trace::CollectiveKind::kAllGather:
      return EntryKind::kGather;
    case trace::CollectiveKind::kReduceScatter:
      return EntryKind::kReduceScatter;
    case trace::CollectiveKind::kAllReduce:
    case trace::CollectiveKind::kReduce:
      return EntryKind::kReduction;
    default:
      return EntryKind::kExchange;
  }
}

// What its first word says that says anything.
EntryKind file_use(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (auto at = name.begin(); at != name.end();) {
    const auto first = std::find_if(at, name.end(), letter);
    at = std::find_if_not(first, name.end(), letter);
    for (const FileWord& row : kFileWords)
      if (row.name == std::string_view(first, at)) return row.kind;
  }
  return EntryKind::kOther;
}

}  // namespace

EntryTraits traits_of_copy(const Work& work) {
  const bool in = work.kind == WorkKind::kCopyToDevice;
  return {in ? EntryKind::kCopyToDevice : EntryKind::kCopyToHost, !work.pageable};
}

EntryTraits traits_of_collective(const trace::Trace& trace, const Work& work) {
  EntryTraits traits;
  // By the kernel that runs it: collectives of which nothing else was recorded have that.
  const trace::KernelFamily& family = trace.kernel(work.span);
  if (family.work == trace::KernelWork::kCollective) traits.kind = kind_of(family.collective);
  const std::string_view kernel = trace.strings.text(trace.spans.name[work.span]);
  const trace::Collective* detail = trace::find_detail(trace.collectives, work.span);
  traits.narrow =
      detail != nullptr && detail->dtype != DType::kUndefined
          ? dtype_size(detail->dtype) == 2
          : kernel.find("_bf16") != std::string_view::npos || kernel.find("_f16") != std::string_view::npos;
  return traits;
}

EntryTraits traits_of_call(Cause cause, std::string_view name) {
  if (cause == Cause::kIo) return {file_use(name)};
  if (cause != Cause::kHostSync) return {};
  if (name == "cudaDeviceSynchronize" || name == "cudaEventSynchronize") return {EntryKind::kWaitForDevice};
  const bool reads_size = trace::operator_kind(name) == trace::OperatorKind::kReadSize;
  return {reads_size ? EntryKind::kWaitForSize : EntryKind::kOther};
}

}  // namespace hone::analyze::device
