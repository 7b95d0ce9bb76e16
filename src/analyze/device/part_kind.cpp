#include "analyze/device/part_kind.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/dtype.h"

namespace hone::analyze::device {
namespace {

struct NamedPart {
  std::string_view name;
  PartWork work;
};

// Whole words of a name, as programs and libraries put them together: "read_batch", "numpy.load", "fwrite".
constexpr NamedPart kFileWords[] = {
    {"read", PartWork::kRead},    {"reads", PartWork::kRead},   {"readline", PartWork::kRead},
    {"fread", PartWork::kRead},   {"pread", PartWork::kRead},   {"load", PartWork::kRead},
    {"loads", PartWork::kRead},   {"write", PartWork::kWrite},  {"writes", PartWork::kWrite},
    {"fwrite", PartWork::kWrite}, {"pwrite", PartWork::kWrite}, {"save", PartWork::kWrite},
    {"saves", PartWork::kWrite},  {"dump", PartWork::kWrite},   {"dumps", PartWork::kWrite}};

PartWork work_of(trace::CollectiveKind collective) {
  switch (collective) {
    case trace::CollectiveKind::kAllGather:
      return PartWork::kGather;
    case trace::CollectiveKind::kReduceScatter:
      return PartWork::kReduceScatter;
    case trace::CollectiveKind::kAllReduce:
    case trace::CollectiveKind::kReduce:
      return PartWork::kReduction;
    default:
      return PartWork::kExchange;
  }
}

// What its first word says that says anything.
PartWork file_use(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (auto at = name.begin(); at != name.end();) {
    const auto first = std::find_if(at, name.end(), letter);
    at = std::find_if_not(first, name.end(), letter);
    for (const NamedPart& row : kFileWords)
      if (row.name == std::string_view(first, at)) return row.work;
  }
  return PartWork::kOther;
}

}  // namespace

PartKind kind_of_copy(const Work& work) {
  const bool in = work.kind == WorkKind::kCopyToDevice;
  return {in ? PartWork::kCopyToDevice : PartWork::kCopyToHost, !work.pageable};
}

PartKind kind_of_collective(const trace::Trace& trace, const Work& work) {
  PartKind kind;
  // By the kernel that runs it: collectives of which nothing else was recorded have that.
  const trace::KernelFamily& family = trace.kernel(work.span);
  if (family.work == trace::KernelWork::kCollective) kind.work = work_of(family.collective);
  const std::string_view kernel = trace.strings.text(trace.spans.name[work.span]);
  const trace::Collective* detail = trace::find_detail(trace.collectives, work.span);
  kind.narrow =
      detail != nullptr && detail->dtype != DType::kUndefined
          ? dtype_size(detail->dtype) == 2
          : kernel.find("_bf16") != std::string_view::npos || kernel.find("_f16") != std::string_view::npos;
  return kind;
}

PartKind kind_of_call(Cause cause, std::string_view name) {
  if (cause == Cause::kIo) return {file_use(name)};
  if (cause != Cause::kHostSync) return {};
  if (name == "cudaDeviceSynchronize" || name == "cudaEventSynchronize") return {PartWork::kWaitForDevice};
  const bool reads_size = trace::operator_kind(name) == trace::OperatorKind::kReadSize;
  return {reads_size ? PartWork::kWaitForSize : PartWork::kOther};
}

}  // namespace hone::analyze::device
