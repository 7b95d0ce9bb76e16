#include "trace/link/operators.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/aten/cost.h"
#include "trace/aten/table.h"
#include "trace/call_inputs.h"
#include "trace/link/fusion.h"
#include "trace/source_line.h"

namespace hone::trace::link {
namespace {

struct Key {
  StringId kind, inputs, module, program, package;
  Phase phase = Phase::kUnknown;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    uint64_t hash = key.kind.index;
    for (uint64_t part : {uint64_t{key.inputs.index}, uint64_t{key.module.index}, uint64_t{key.program.index},
                          uint64_t{key.package.index}, static_cast<uint64_t>(key.phase)})
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u + (hash >> 29);
    return hash;
  }
};

// What tells calls of an operator apart whose cost is not known.
std::string largest_tensor(const std::vector<CallInput>& inputs) {
  const CallInput* largest = nullptr;
  for (const CallInput& input : inputs)
    if (input.kind == CallInput::Kind::kTensor &&
        (largest == nullptr || input.elements() > largest->elements()))
      largest = &input;
  return largest == nullptr
             ? ""
             : fmt::format("{} {}", aten::dims_text(largest->dims), dtype_name(largest->dtype));
}

std::string device_of(const Trace& trace) {
  for (const Track& track : trace.tracks)
    if (track.kind == TrackKind::kStream) return "cuda";
  return "cpu";
}

class OperatorTable {
 public:
  explicit OperatorTable(Trace& trace)
      : trace_(trace), device_(device_of(trace)), tensors_(trace.operators.size()) {
    for (const Operator& op : trace.operators) names_.insert(op.name);
  }

  OperatorId row(const Key& key) {
    const auto [at, is_new] = rows_.try_emplace(key, OperatorId{});
    if (is_new) at->second = trace_.add_operator(describe(key));
    return at->second;
  }

  std::span<const RowTensors> tensors() const { return tensors_; }

 private:
  Operator describe(const Key& key) {
    Operator op;
    op.kind = trace_.strings.text(key.kind);
    op.phase = key.phase;
    op.module = trace_.strings.text(key.module);
    op.device = device_;
    const auto inputs = parse_call_inputs(trace_.strings.text(key.inputs));
    const bool known_inputs = key.inputs.valid() && inputs.ok();
    const auto cost = known_inputs ? aten::call_cost(op.kind, *inputs) : std::nullopt;
    op.op_class = cost ? cost->op_class : aten::class_of_kind(op.kind);
    if (cost) {
      op.dtype = cost->dtype;
      op.flops = cost->flops;
      op.bytes_read = cost->bytes_read;
      op.bytes_written = cost->bytes_written;
      op.geometry = cost->geometry;
    } else if (known_inputs) {
      op.geometry = largest_tensor(*inputs);
    }
    RowTensors& row = tensors_.emplace_back();
    const bool copies = operator_kind(op.kind) == OperatorKind::kCopy;  // writes its first argument alone
    row.in_place = is_in_place(op.kind) && !copies;
    if (cost) row.result = cost->result;
    if (known_inputs)
      for (const CallInput& input : std::span(*inputs).subspan(copies && !inputs->empty() ? 1 : 0))
        if (input.kind == CallInput::Kind::kTensor)
          row.inputs.push_back({static_cast<double>(input.elements()), input.dtype});
    op.name = unique_name(op);
    op.provenance = {op.module.empty() ? op.name : op.module};
    for (const auto& [beginning, line] :
         {std::pair(kSourceLine, key.program), std::pair(kPackageLine, key.package)})
      if (line.valid()) op.provenance.push_back(fmt::format("{}{}", beginning, trace_.strings.text(line)));
    return op;
  }

  // "addmm 8192×768 · 768×3072 in Gpt_0/Block_3"
  std::string unique_name(const Operator& op) {
    std::string name(operator_word(op.kind));
    if (!op.geometry.empty()) name += " " + op.geometry;
    if (op.phase == Phase::kBackward && name.find("ackward") == std::string::npos) name += " (backward)";
    if (op.phase == Phase::kOptimizer) name += " (optimizer)";
    if (!op.module.empty()) name += " in " + op.module;
    std::string result = name;
    if (names_.insert(result).second) return result;
    int& number = numbers_.try_emplace(name, 1).first->second;
    do result = fmt::format("{} #{}", name, ++number);
    while (!names_.insert(result).second);
    return result;
  }

  Trace& trace_;
  std::string device_;
  std::vector<RowTensors> tensors_;  // by row
  std::unordered_map<Key, OperatorId, KeyHash> rows_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> numbers_;  // the last that tells rows of one name apart
};

}  // namespace

void make_operators(Trace& trace, const Context& context, std::span<const DeviceWork> work) {
  OperatorTable table(trace);
  auto call = trace.calls.begin();
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    while (call != trace.calls.end() && call->span < row) ++call;
    if (trace.spans.category[row] != Category::kOperator || trace.spans.op[row].valid() ||
        trace.tracks[trace.spans.track[row].index].kind == TrackKind::kStream)
      continue;
    const bool has_call = call != trace.calls.end() && call->span == row;
    trace.spans.op[row] =
        table.row({trace.spans.name[row], has_call ? call->inputs : StringId{}, context.origin[row].module,
                   context.origin[row].program, context.origin[row].package, context.phase[row]});
  }
  for (const DeviceWork& item : work)
    if (!trace.spans.op[item.row].valid() && item.caller != kNoSpan)
      trace.spans.op[item.row] = trace.spans.op[item.caller];
  find_fusible(trace, work, table.tensors());
}

}  // namespace hone::trace::link
