#include "trace/import/xplane/operators.h"

#include <algorithm>

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include "trace/aten/cost.h"
#include "trace/import/xplane/op_name.h"
#include "trace/name_patterns.h"
#include "trace/source_line.h"

namespace hone::trace::xplane {
namespace {

// Types of TensorFlow's operators, and categories of XLA's instructions, by what they do.
constexpr NamePattern<OperatorClass> kClasses[] = {
    {"Conv", OperatorClass::kConvolution},
    {"MatMul", OperatorClass::kMatrix},
    {"Einsum", OperatorClass::kMatrix},
    {"Pool", OperatorClass::kPooling},
    {"Norm", OperatorClass::kNormalization},
    {"Softmax", OperatorClass::kReduction},
    {"Transpose", OperatorClass::kLayout},
    {"Sum", OperatorClass::kReduction, At::kWhole},
    {"Mean", OperatorClass::kReduction, At::kWhole},
    {"Max", OperatorClass::kReduction, At::kWhole},
    {"Concat", OperatorClass::kMovement, At::kFront},
    {"Gather", OperatorClass::kMovement, At::kFront},
    {"Slice", OperatorClass::kMovement},
    {"Pad", OperatorClass::kMovement, At::kFront},
    {"convolution", OperatorClass::kConvolution},
    {"dot", OperatorClass::kMatrix},
    {"matmul", OperatorClass::kMatrix},
    {"gemm", OperatorClass::kMatrix},
    {"reduce-window", OperatorClass::kPooling},
    {"reduce", OperatorClass::kReduction},
    {"loop fusion", OperatorClass::kPointwise},
    {"non-fusion elementwise", OperatorClass::kPointwise},
    {"copy", OperatorClass::kLayout},
    {"data formatting", OperatorClass::kLayout},
};

constexpr std::string_view kCollectives[] = {"all-reduce", "all-gather",         "reduce-scatter",
                                             "all-to-all", "collective-permute", "collective-broadcast"};

bool names_collective(std::string_view name) {
  return std::any_of(std::begin(kCollectives), std::end(kCollectives),
                     [&](std::string_view each) { return name.find(each) != std::string_view::npos; });
}

// "multiply_tanh_fusion.12", "loop_add_fusion_3" → without the number that tells it from others of its kind.
std::string_view without_suffix(std::string_view name) {
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::size_t digits = rest.find_last_not_of("0123456789");
    if (digits == std::string_view::npos || digits + 1 == rest.size() || digits == 0) break;
    if (rest[digits] != '.' && rest[digits] != '_') break;
    rest = rest.substr(0, digits);
  }
  for (const std::string_view clone : {".clone", ".remat"})
    if (rest.ends_with(clone)) rest.remove_suffix(clone.size());
  return rest.empty() ? name : rest;
}

// "__cublas$lt$matmul" → "cublas lt matmul".
std::string target_words(std::string_view target) {
  std::string words;
  for (const char c : target) words += c == '$' || c == '_' ? ' ' : c;
  words.erase(0, words.find_first_not_of(' '));
  return words;
}

// What a row goes by: products by what they are, fusions by the name that XLA makes of their parts.
std::string kind_of(const HloInstruction& instruction, const HloCost& cost) {
  if (instruction.opcode == "custom-call") return target_words(instruction.custom_call_target);
  if (instruction.opcode != "fusion") return std::string(instruction.opcode);
  if (cost.op_class == OperatorClass::kMatrix) return "dot";
  if (cost.op_class == OperatorClass::kConvolution) return "convolution";
  return std::string(without_suffix(instruction.name));
}

// "loop_add_fusion.3" → "loop_add_fusion_3", as XLA calls the kernel that it makes for it.
std::string kernel_name_of(std::string_view instruction) {
  std::string name(instruction);
  for (char& c : name)
    if (c == '.' || c == '-') c = '_';
  return name;
}

std::string source_text(const HloFrame& place) {
  if (place.file.empty()) return {};
  const std::string_view file = place.file.substr(place.file.rfind('/') + 1);
  return place.line > 0 ? fmt::format("{}:{}", file, place.line) : std::string(file);
}

}  // namespace

void HloOperators::add_module(std::string_view name, int64_t program, std::string_view proto) {
  modules_[program].proto = proto;
  program_by_name_[name.substr(0, name.find('('))] = program;
}

HloOperators::Module* HloOperators::module_of(const HloEvent& event) {
  auto at = modules_.find(event.program);
  if (at == modules_.end() && event.program == 0) {
    const auto named = program_by_name_.find(event.module);
    if (named != program_by_name_.end()) at = modules_.find(named->second);
  }
  if (at == modules_.end()) return nullptr;
  if (!at->second.is_read) read(at->second);
  return &at->second;
}

void HloOperators::read(Module& module) {
  module.is_read = true;
  try {
    module.hlo = read_hlo(module.proto);
  } catch (const protozero::exception&) {
    module.hlo = {};
    ++damaged_;
  }
  module.costs = std::make_unique<HloCosts>(module.hlo);
  for (std::size_t c = 0; c < module.hlo.computations.size(); ++c) {
    const HloComputation& computation = module.hlo.computations[c];
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const HloInstruction& row = computation.instructions[i];
      // Of a name that stands inside a fusion as well, the fusion's: that is what runs.
      module.places[row.name] = {c, i};
      module.of_kernels[kernel_name_of(row.name)] = row.name;
      module.trains = module.trains || row.op_name.find("transpose(") != std::string_view::npos ||
                      row.op_name.starts_with("gradient_tape/");
    }
  }
}

HloOperator HloOperators::find(const HloEvent& event, std::string_view device, Trace& trace) {
  const Key key{event.program, event.module, event.op};
  auto known = known_.find(key);
  if (known == known_.end()) known = known_.emplace(key, describe(event, device, trace)).first;
  const HloOperator found = known->second;
  if ((found.in_module && !found.runs_others) || event.kernel.empty()) return found;
  // Of kernels in a CUDA graph the profile names the whole (a command buffer); those that XLA made are called
  // after their instructions.
  const Module* module = module_of(event);
  if (module == nullptr) return found;
  const auto inner = module->of_kernels.find(std::string(event.kernel));
  if (inner == module->of_kernels.end() || inner->second == event.op) return found;
  HloEvent part = event;
  part.op = inner->second;
  part.kernel = {};
  return find(part, device, trace);
}

HloOperator HloOperators::describe(const HloEvent& event, std::string_view device, Trace& trace) {
  HloOperator result;
  Operator op;
  op.device = device;
  OpPlace place = place_of_op(event.op_name);
  const Module* module = module_of(event);
  bool trains = place.differentiated;
  std::string source;
  if (module != nullptr) {
    // Annotations of instructions within loops may name the loops, too: "while.3/fusion.2".
    auto at = module->places.find(event.op);
    if (at == module->places.end()) at = module->places.find(event.op.substr(event.op.rfind('/') + 1));
    trains = trains || module->trains;
    if (at != module->places.end()) {
      const HloComputation& computation = module->hlo.computations[at->second.first];
      const HloInstruction& instruction = computation.instructions[at->second.second];
      const HloCost cost = module->costs->of(computation, instruction);
      if (!instruction.op_name.empty()) place = place_of_op(instruction.op_name);
      op.kind = kind_of(instruction, cost);
      op.op_class = cost.op_class;
      op.dtype = cost.dtype;
      op.may_use_tf32 = device == "cuda" && cost.dtype == DType::kF32 && cost.default_precision &&
                        !trace.meta.devices.empty() && trace.meta.devices.back().compute_major >= 8;
      op.flops = cost.flops;
      op.bytes_read = cost.bytes_read;
      op.bytes_written = cost.bytes_written;
      op.geometry = cost.geometry;
      result.is_collective = cost.is_collective;
      result.runs_others = cost.runs_others;
      result.in_module = true;
      source = source_text(module->hlo.place_of(instruction));
    }
  }
  if (op.kind.empty()) {
    op.kind = without_suffix(event.op);
    const std::string_view words = event.category.empty() ? std::string_view(op.kind) : event.category;
    op.op_class = first_match(std::span(kClasses), words).value_or(OperatorClass::kOther);
    result.is_collective = names_collective(event.op) || names_collective(event.category);
    result.runs_others =
        event.category == "while" || event.category == "conditional" || event.category == "call";
  }
  if (event.flops > 0) op.flops = event.flops;
  if (event.bytes > 0) {
    // Recorded as one sum: divided as the shapes are.
    const double shaped = op.bytes();
    const double read = shaped > 0 ? op.bytes_read / shaped : 1;
    op.bytes_read = event.bytes * read;
    op.bytes_written = event.bytes - op.bytes_read;
  }
  op.phase = place.phase;
  if (op.phase == Phase::kUnknown && !place.primitive.empty())
    op.phase = trains ? Phase::kOptimizer : Phase::kForward;
  op.module = std::move(place.module);
  op.provenance = {std::string(place.primitive.empty() ? event.op : place.primitive)};
  if (!op.module.empty()) op.provenance.front() = op.module;
  if (!source.empty()) op.provenance.push_back(std::string(kSourceLine) + source);
  op.name =
      unique_name(op.geometry.empty() ? std::string(event.op) : fmt::format("{} {}", event.op, op.geometry));
  result.op = trace.add_operator(std::move(op));
  return result;
}

OperatorId HloOperators::framework_operator(std::string_view name, std::string_view type, Trace& trace) {
  const auto [at, is_new] = framework_known_.try_emplace({name, type}, OperatorId{});
  if (!is_new) return at->second;
  Operator op;
  op.kind = type;
  op.op_class = first_match(std::span(kClasses), type).value_or(OperatorClass::kOther);
  OpPlace place = place_of_op(name);
  op.module = std::move(place.module);
  op.phase = place.phase == Phase::kUnknown ? Phase::kForward : place.phase;
  op.device = "cpu";
  op.provenance = {op.module.empty() ? std::string(name) : op.module};
  op.name = unique_name(std::string(name));
  at->second = trace.add_operator(std::move(op));
  return at->second;
}

std::string HloOperators::unique_name(std::string name) {
  const int number = ++names_[name];
  return number == 1 ? name : fmt::format("{} #{}", name, number);
}

}  // namespace hone::trace::xplane
