#include "trace/link/fusion.h"

#include <algorithm>
#include <array>
#include <map>

namespace hone::trace::link {
namespace {

// How many executions back a result still counts as just made.
constexpr std::size_t kNear = 4;
// Smaller tensors are not worth a word.
constexpr double kLeastElements = 1024;

bool fusible(OperatorClass op_class) {
  return op_class == OperatorClass::kPointwise || op_class == OperatorClass::kNormalization ||
         op_class == OperatorClass::kReduction;
}

double bytes_of(const aten::ResultTensor& tensor) {
  return tensor.elements * static_cast<double>(dtype_size(tensor.dtype));
}

bool same_tensor(const aten::ResultTensor& made, const aten::ResultTensor& read) {
  return made.elements >= kLeastElements && made.elements == read.elements && made.dtype == read.dtype;
}

// What ran last on a stream, newest first.
class Recent {
 public:
  void add(uint32_t op) {
    std::rotate(ops_.rbegin(), ops_.rbegin() + 1, ops_.rend());
    ops_[0] = op;
    count_ = std::min(count_ + 1, kNear);
  }
  std::span<const uint32_t> ops() const { return {ops_.data(), count_}; }
  uint32_t caller = kNoSpan;  // of the execution that is on

 private:
  std::array<uint32_t, kNear> ops_ = {};
  std::size_t count_ = 0;
};

struct Saving {
  double executions = 0;
  double bytes = 0;
  std::map<uint32_t, int> partners;
};

}  // namespace

void find_fusible(Trace& trace, std::span<const DeviceWork> work, std::span<const RowTensors> rows) {
  std::map<uint32_t, Recent> streams;
  std::vector<Saving> savings(rows.size());
  for (const DeviceWork& item : work) {
    const OperatorId id = trace.spans.op[item.row];
    Recent& recent = streams[trace.spans.track[item.row].index];
    // Several kernels of one call are one execution.
    if (!id.valid() || id.index >= rows.size() || (item.caller != kNoSpan && item.caller == recent.caller))
      continue;
    recent.caller = item.caller;
    const RowTensors& row = rows[id.index];
    Saving& saving = savings[id.index];
    ++saving.executions;
    if (fusible(trace.operators[id.index].op_class)) {
      bool found = false;
      for (uint32_t before : recent.ops())
        for (std::size_t i = 0; i < row.inputs.size() && !found; ++i) {
          if (!fusible(trace.operators[before].op_class) || !same_tensor(rows[before].result, row.inputs[i]))
            continue;
          saving.bytes += bytes_of(row.inputs[i]) * (row.in_place && i == 0 ? 2 : 1);
          ++saving.partners[before];
          found = true;
        }
    }
    recent.add(id.index);
  }
  for (std::size_t i = 0; i < savings.size(); ++i) {
    if (savings[i].bytes <= 0) continue;
    Operator& op = trace.operators[i];
    const auto partner = std::max_element(savings[i].partners.begin(), savings[i].partners.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    op.avoidable_bytes = std::min(op.bytes(), savings[i].bytes / savings[i].executions);
    op.fuses_with = trace.operators[partner->first].name;
  }
}

}  // namespace hone::trace::link
