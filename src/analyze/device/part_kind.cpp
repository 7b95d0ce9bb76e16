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

constexpr NamedPart kWaits[] = {
    {"cudaDeviceSynchronize", PartWork::kWaitForDevice}, {"cudaEventSynchronize", PartWork::kWaitForDevice},
    {"aten::nonzero", PartWork::kWaitForSize},           {"aten::nonzero_numpy", PartWork::kWaitForSize},
    {"aten::masked_select", PartWork::kWaitForSize},     {"aten::_unique", PartWork::kWaitForSize},
    {"aten::_unique2", PartWork::kWaitForSize},          {"aten::unique_dim", PartWork::kWaitForSize},
    {"aten::unique_consecutive", PartWork::kWaitForSize}};

// Whole words of a name, as programs and libraries put them together: "read_batch", "numpy.load", "fwrite".
constexpr NamedPart kFileWords[] = {
    {"read", PartWork::kRead},    {"reads", PartWork::kRead},   {"readline", PartWork::kRead},
    {"fread", PartWork::kRead},   {"pread", PartWork::kRead},   {"load", PartWork::kRead},
    {"loads", PartWork::kRead},   {"write", PartWork::kWrite},  {"writes", PartWork::kWrite},
    {"fwrite", PartWork::kWrite}, {"pwrite", PartWork::kWrite}, {"save", PartWork::kWrite},
    {"saves", PartWork::kWrite},  {"dump", PartWork::kWrite},   {"dumps", PartWork::kWrite}};

// By the kernel that runs it: collectives of which nothing else was recorded have that.
constexpr NamedPart kCollectiveKernels[] = {{"AllGather", PartWork::kGather},
                                            {"ReduceScatter", PartWork::kReduceScatter},
                                            {"Reduce", PartWork::kReduction},
                                            {"nccl", PartWork::kExchange}};

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
  const std::string_view kernel = trace.strings.text(trace.spans.name[work.span]);
  for (const NamedPart& row : kCollectiveKernels)
    if (kind.work == PartWork::kOther && kernel.find(row.name) != std::string_view::npos)
      kind.work = row.work;
  const trace::Collective* detail = trace::find_detail(trace.collectives, work.span);
  kind.narrow =
      detail != nullptr && detail->dtype != DType::kUndefined
          ? dtype_size(detail->dtype) == 2
          : kernel.find("_bf16") != std::string_view::npos || kernel.find("_f16") != std::string_view::npos;
  return kind;
}

PartKind kind_of_call(Cause cause, std::string_view name) {
  if (cause == Cause::kIo) return {file_use(name)};
  if (cause == Cause::kHostSync)
    for (const NamedPart& row : kWaits)
      if (row.name == name) return {row.work};
  return {};
}

}  // namespace hone::analyze::device
