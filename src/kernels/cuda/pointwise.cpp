#include "kernels/cuda/pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

using Op = PointwiseOp;

// How an element type lies in memory, and the prelude's conversion of it.
struct MemoryForm {
  DType dtype;
  std::string_view memory;      // type in memory
  std::string_view conversion;  // with held() and stored()
};

constexpr std::array kMemoryForms = {
    MemoryForm{DType::kF16, "unsigned short", "HoneF16"},
    MemoryForm{DType::kBF16, "unsigned short", "HoneBf16"},
    MemoryForm{DType::kF32, "float", "HoneIdentity<float>"},
    MemoryForm{DType::kF64, "double", "HoneIdentity<double>"},
    MemoryForm{DType::kI8, "signed char", "HoneNarrow<signed char>"},
    MemoryForm{DType::kU8, "unsigned char", "HoneNarrow<unsigned char>"},
    MemoryForm{DType::kI16, "short", "HoneNarrow<short>"},
    MemoryForm{DType::kU16, "unsigned short", "HoneNarrow<unsigned short>"},
    MemoryForm{DType::kI32, "int", "HoneIdentity<int>"},
    MemoryForm{DType::kU32, "unsigned", "HoneU32"},
    MemoryForm{DType::kI64, "hone_i64", "HoneIdentity<hone_i64>"},
    MemoryForm{DType::kBool, "unsigned char", "HoneBool"},
};

// Programs are verified before anything is generated: their types are in the table.
const MemoryForm& form_of(DType dtype) {
  return *std::find_if(kMemoryForms.begin(), kMemoryForms.end() - 1,
                       [&](const MemoryForm& form) { return form.dtype == dtype; });
}

std::string_view held_type(DType held) {
  switch (held) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "hone_i64";
    default:
      return "hone_bool";
  }
}

// A number exactly as it is, in hexadecimal; what has no digits by its bits.
std::string literal(double value, DType held) {
  const std::string_view type = held_type(held);
  if (std::isnan(value)) return fmt::format("({})hone_float_of_bits(0x7fc00000u)", type);
  if (std::isinf(value))
    return fmt::format("({})hone_float_of_bits({})", type, value > 0 ? "0x7f800000u" : "0xff800000u");
  return fmt::format("({}){:a}", type, value);
}

std::string constant_text(const PointwiseInstruction& instruction) {
  const DType held = compute_type(instruction.dtype);
  if (held == DType::kF32 || held == DType::kF64) return literal(instruction.literal, held);
  if (instruction.integer == std::numeric_limits<int64_t>::min()) return "(-0x7fffffffffffffffLL - 1)";
  return fmt::format("({}){}LL", held_type(held), instruction.integer);
}

bool takes_parameters(Op op) {
  switch (op) {
    case Op::kLeakyRelu:
    case Op::kClip:
    case Op::kHardSigmoid:
    case Op::kSwish:
    case Op::kElu:
    case Op::kCelu:
    case Op::kSelu:
    case Op::kThresholdedRelu:
    case Op::kShrink:
    case Op::kIsInf:
      return true;
    default:
      return false;
  }
}

// Whether there is a cheaper form for values that become f16 or bf16 at once (hone_near_…, prelude.h).
bool has_near_form(Op op) {
  switch (op) {
    case Op::kDiv:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kReciprocal:
    case Op::kExp:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kSwish:
    case Op::kGeluErf:
    case Op::kGeluTanh:
    case Op::kGeluErfSlope:
    case Op::kGeluTanhSlope:
      return true;
    default:
      return false;
  }
}

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Of each instruction, whether it is f32 and all that is made of its value is the same rounded to f16 or bf16. One such
// operator by itself and as one of a group is computed alike: fusing changes no number.
std::vector<bool> only_rounded(const PointwiseProgram& program) {
  std::vector<bool> only;
  for (const PointwiseInstruction& at : program.instructions)
    only.push_back(compute_type(at.dtype) == DType::kF32);
  for (const PointwiseInstruction& at : program.instructions) {
    if (at.op == Op::kCast && is_half(at.dtype)) continue;
    const std::array operands = {at.a, at.b, at.c};
    for (int k = 0; k < pointwise_arity(at.op); ++k)
      only[static_cast<std::size_t>(operands[static_cast<std::size_t>(k)])] = false;
  }
  for (const PointwiseOutput& output : program.outputs)
    if (!is_half(output.dtype)) only[static_cast<std::size_t>(output.value)] = false;
  return only;
}

// How the iteration space is walked: neighbouring axes that every input walks as one are one.
struct Walk {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // of each input
};

Walk merged_walk(const PointwiseProgram& program) {
  Walk walk;
  walk.strides.resize(program.inputs.size());
  for (std::size_t axis = 0; axis < program.shape.size(); ++axis) {
    const int64_t extent = program.shape[axis];
    if (extent == 1) continue;
    const bool joins = !walk.extents.empty() && [&] {
      for (std::size_t i = 0; i < program.inputs.size(); ++i) {
        if (walk.strides[i].back() != program.inputs[i].strides[axis] * extent) return false;
      }
      return true;
    }();
    if (joins)
      walk.extents.back() *= extent;
    else
      walk.extents.push_back(extent);
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      if (joins)
        walk.strides[i].back() = program.inputs[i].strides[axis];
      else
        walk.strides[i].push_back(program.inputs[i].strides[axis]);
    }
  }
  return walk;
}

enum class InputKind : uint8_t {
  kNumber,    // one for all
  kDense,     // as the result lies
  kRun,       // a vector of the result reads a vector, elsewhere
  kWideRun,   // the same, of a wider type: several loads
  kRepeated,  // a vector of the result reads one element
  kSpread,    // a vector of the result reads elements at equal distances
  kStrided,   // anything else
};

InputKind kind_of(const Walk& walk, std::size_t input) {
  const std::vector<int64_t>& strides = walk.strides[input];
  if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; }))
    return InputKind::kNumber;
  int64_t dense = 1;
  for (std::size_t axis = strides.size(); axis-- > 0; dense *= walk.extents[axis]) {
    if (strides[axis] != dense) return InputKind::kStrided;
  }
  return InputKind::kDense;
}

// How vectors of `lanes` elements read a strided input: where they end with rows, all of one lies in a row.
InputKind kind_in_vectors(const Walk& walk, std::size_t input, int64_t lanes, bool wide) {
  const std::vector<int64_t>& strides = walk.strides[input];
  if (lanes == 1 || walk.extents.back() % lanes != 0) return InputKind::kStrided;
  if (strides.back() == 0) return InputKind::kRepeated;
  const bool aligned =
      std::all_of(strides.begin(), strides.end() - 1, [&](int64_t s) { return s % lanes == 0; });
  if (strides.back() != 1 || !aligned) return InputKind::kSpread;
  return wide ? InputKind::kWideRun : InputKind::kRun;
}

// Writes one kernel's source.
class PointwiseWriter {
 public:
  explicit PointwiseWriter(const PointwiseProgram& program)
      : program_(program), walk_(merged_walk(program)), only_rounded_(only_rounded(program)) {
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      kinds_.push_back(kind_of(walk_, i));
      if (kinds_.back() == InputKind::kDense)
        widest_ = std::max(widest_, dtype_size(program.inputs[i].dtype));
    }
    for (const PointwiseOutput& output : program.outputs)
      widest_ = std::max(widest_, dtype_size(output.dtype));
    lanes_ = static_cast<int>(kPointwiseAlignment / widest_);
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      if (kinds_[i] == InputKind::kStrided)
        kinds_[i] = kind_in_vectors(walk_, i, lanes_, dtype_size(program.inputs[i].dtype) > widest_);
    // Enough loads on their way to fill the memory's latency, as long as all multiprocessors still get some.
    vectors_ = element_count(program.shape) >= int64_t{1} << 22 ? 4 : 1;
  }

  int64_t elements_a_block() const { return int64_t{kPointwiseBlock} * lanes_ * vectors_; }

  std::string write() const { return full_prelude() + element_function() + offset_functions() + kernel(); }

 private:
  std::string memory(const DType dtype) const { return std::string(form_of(dtype).memory); }
  std::string held_of_input(std::size_t i) const {
    return std::string(held_type(compute_type(program_.inputs[i].dtype)));
  }

  // Halves are rounded where they are stored, two by one instruction.
  bool in_pairs(std::size_t k) const { return is_half(program_.outputs[k].dtype) && lanes_ % 2 == 0; }

  // All instructions on one element.
  std::string element_function() const {
    std::string text = "HONE_FUNCTION void hone_element(";
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      text += fmt::format("{} i{}, ", held_of_input(i), i);
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      text += fmt::format("{}{}& o{}", k > 0 ? ", " : "",
                          in_pairs(k) ? "float" : memory(program_.outputs[k].dtype), k);
    text += ") {\n";
    for (std::size_t v = 0; v < program_.instructions.size(); ++v) text += "  " + instruction(v) + "\n";
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) text += "  " + store(k) + "\n";
    return text + "}\n";
  }

  std::string instruction(std::size_t v) const {
    const PointwiseInstruction& at = program_.instructions[v];
    const std::string_view type = held_type(compute_type(at.dtype));
    std::string value;
    if (at.op == Op::kInput) {
      value = fmt::format("i{}", at.a);
    } else if (at.op == Op::kConstant) {
      value = constant_text(at);
    } else if (at.op == Op::kCast) {
      value = fmt::format("hone_cast_{}(v{})", dtype_name(at.dtype), at.a);
    } else {
      const bool near = only_rounded_[v] && has_near_form(at.op);
      value = fmt::format("hone_{}{}(v{}", near ? "near_" : "", pointwise_op_name(at.op), at.a);
      const std::array more = {at.b, at.c};
      for (int k = 1; k < pointwise_arity(at.op); ++k)
        value += fmt::format(", v{}", more[static_cast<std::size_t>(k - 1)]);
      if (takes_parameters(at.op)) value += ", " + parameter(at, at.alpha) + ", " + parameter(at, at.beta);
      value += ")";
    }
    return fmt::format("const {} v{} = {};", type, v, value);
  }

  // alpha and beta in the type of the operand; bounds of integers saturate.
  std::string parameter(const PointwiseInstruction& at, float number) const {
    const DType held = compute_type(program_.instructions[static_cast<std::size_t>(at.a)].dtype);
    if (held == DType::kF32 || held == DType::kF64) return literal(static_cast<double>(number), held);
    return fmt::format("{}({})", held == DType::kI32 ? "hone_to_i32" : "hone_to_i64",
                       literal(static_cast<double>(number), DType::kF64));
  }

  std::string store(std::size_t k) const {
    const PointwiseOutput& output = program_.outputs[k];
    const DType held = compute_type(program_.instructions[static_cast<std::size_t>(output.value)].dtype);
    const bool same = compute_type(output.dtype) == held;
    const std::string value = same ? fmt::format("v{}", output.value)
                                   : fmt::format("hone_cast_{}(v{})", dtype_name(output.dtype), output.value);
    if (in_pairs(k)) return fmt::format("o{} = {};", k, value);
    const PointwiseInstruction& last = program_.instructions[static_cast<std::size_t>(output.value)];
    const bool rounded = last.op == Op::kCast && last.dtype == DType::kBF16 && output.dtype == DType::kBF16;
    return fmt::format("o{} = {}::stored{}({});", k, form_of(output.dtype).conversion,
                       rounded ? "_rounded" : "", value);
  }

  bool has_offset(std::size_t i) const {
    return kinds_[i] != InputKind::kNumber && kinds_[i] != InputKind::kDense;
  }

  // Where a strided input's element is.
  std::string offset_functions() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (!has_offset(i)) continue;
      text += fmt::format("HONE_FUNCTION hone_i64 hone_offset_{}(hone_index e) {{\n  hone_i64 at = 0;\n", i);
      for (std::size_t axis = walk_.extents.size(); axis-- > 0;) {
        const int64_t stride = walk_.strides[i][axis];
        const bool last = axis == 0;
        const std::string place = last ? "e" : fmt::format("e % (hone_index){}", walk_.extents[axis]);
        if (stride != 0) text += fmt::format("  at += (hone_i64)({}) * {}LL;\n", place, stride);
        if (!last) text += fmt::format("  e /= (hone_index){};\n", walk_.extents[axis]);
      }
      text += "  return at;\n}\n";
    }
    const bool small = element_count(program_.shape) < (int64_t{1} << 31) - elements_a_block();
    return fmt::format("typedef {} hone_index;\n", small ? "unsigned" : "unsigned long long") + text;
  }

  std::string arguments() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      text += fmt::format("const {}* in{}, ", memory(program_.inputs[i].dtype), i);
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      text += fmt::format("{}* out{}, ", memory(program_.outputs[k].dtype), k);
    return text + "hone_i64 n";
  }

  // The value of input `i` for the element at `e`, or for `lane` of vector `u`, which begins there.
  std::string value(std::size_t i, bool in_vector) const {
    const std::string_view held = form_of(program_.inputs[i].dtype).conversion;
    if (kinds_[i] == InputKind::kNumber) return fmt::format("number{}", i);
    if (!in_vector)
      return kinds_[i] == InputKind::kDense
                 ? fmt::format("{}::held(in{}[e])", held, i)
                 : fmt::format("{}::held(in{}[hone_offset_{}((hone_index)e)])", held, i, i);
    switch (kinds_[i]) {
      case InputKind::kRepeated:
        return fmt::format("{}::held(a{}[u])", held, i);
      case InputKind::kWideRun:
        return fmt::format("{}::held(a{}.at[lane])", held, i);
      case InputKind::kSpread:
        return fmt::format("{}::held(in{}[at{} + lane * {}LL])", held, i, i, walk_.strides[i].back());
      case InputKind::kStrided:
        return fmt::format("{}::held(in{}[hone_offset_{}((hone_index)(e + lane))])", held, i, i);
      default:
        return fmt::format("{}::held(a{}[u].at[lane])", held, i);
    }
  }

  std::string call(bool in_vector) const {
    std::string text = "hone_element(";
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) text += value(i, in_vector) + ", ";
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      text += (k > 0 ? ", " : "") + (in_pairs(k) && in_vector ? fmt::format("r{}[lane]", k)
                                     : in_pairs(k)            ? fmt::format("r{}", k)
                                     : in_vector              ? fmt::format("r{}.at[lane]", k)
                                                              : fmt::format("out{}[e]", k));
    return text + ");";
  }

  // One element by itself.
  std::string single() const {
    std::string begin, end;
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      if (!in_pairs(k)) continue;
      begin += fmt::format("float r{}; ", k);
      end += fmt::format(" out{}[e] = {}::stored(r{});", k, form_of(program_.outputs[k].dtype).conversion, k);
    }
    return "{ " + begin + call(false) + end + " }";
  }

  std::string declarations() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const std::string type = memory(program_.inputs[i].dtype);
      if (kinds_[i] == InputKind::kNumber)
        text += fmt::format("  const {} number{} = {}::held(in{}[0]);\n", held_of_input(i), i,
                            form_of(program_.inputs[i].dtype).conversion, i);
      if (kinds_[i] == InputKind::kDense || kinds_[i] == InputKind::kRun)
        text += fmt::format("  HoneVector<{}, kLanes> a{}[kVectors];\n", type, i);
      if (kinds_[i] == InputKind::kRepeated) text += fmt::format("  {} a{}[kVectors];\n", type, i);
    }
    return text;
  }

  std::string loads() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const std::string type = memory(program_.inputs[i].dtype);
      const std::string at =
          kinds_[i] == InputKind::kDense ? "e" : fmt::format("hone_offset_{}((hone_index)e)", i);
      if (kinds_[i] == InputKind::kDense || kinds_[i] == InputKind::kRun)
        text += fmt::format("    a{0}[u] = *(const HoneVector<{1}, kLanes>*)(in{0} + {2});\n", i, type, at);
      if (kinds_[i] == InputKind::kRepeated) text += fmt::format("    a{0}[u] = in{0}[{1}];\n", i, at);
    }
    return text;
  }

  // What would take too many registers if all vectors had theirs at once: mostly numbers of channels, which are near.
  std::string late_loads() const {
    std::string text;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (kinds_[i] == InputKind::kSpread)
        text += fmt::format("      const hone_i64 at{0} = hone_offset_{0}((hone_index)e);\n", i);
      if (kinds_[i] == InputKind::kWideRun)
        text += fmt::format(
            "      const HoneVector<{1}, kLanes> a{0} = *(const HoneVector<{1}, kLanes>*)(in{0} + "
            "hone_offset_{0}((hone_index)e));\n",
            i, memory(program_.inputs[i].dtype));
    }
    return text;
  }

  // Loads of all vectors come before the first store: an output may lie where an input does. The second launch bound
  // keeps ptxas from spilling for the sake of more warps, which it does without one.
  std::string kernel() const {
    std::string text = fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n"
        "  constexpr int kLanes = {}, kVectors = {};\n"
        "  const hone_i64 begin = ((hone_i64)blockIdx.x * kVectors * {} + threadIdx.x) * kLanes;\n",
        kPointwiseBlock, kPointwiseEntry, arguments(), lanes_, vectors_, kPointwiseBlock);
    text += declarations();
    text += fmt::format(
        "#pragma unroll\n  for (int u = 0; u < kVectors; ++u) {{\n"
        "    const hone_i64 e = begin + (hone_i64)u * {} * kLanes;\n    if (e + kLanes > n) continue;\n",
        kPointwiseBlock);
    text += loads();
    text += fmt::format(
        "  }}\n#pragma unroll\n  for (int u = 0; u < kVectors; ++u) {{\n"
        "    hone_i64 e = begin + (hone_i64)u * {} * kLanes;\n    if (e + kLanes <= n) {{\n",
        kPointwiseBlock);
    text += late_loads();
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      text += in_pairs(k)
                  ? fmt::format("      float r{}[kLanes];\n", k)
                  : fmt::format("      HoneVector<{}, kLanes> r{};\n", memory(program_.outputs[k].dtype), k);
    text += "#pragma unroll\n      for (int lane = 0; lane < kLanes; ++lane) " + call(true) + "\n";
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      text += in_pairs(k) ? fmt::format("      hone_store<{0}>(out{1} + e, r{1});\n",
                                        form_of(program_.outputs[k].dtype).conversion, k)
                          : fmt::format("      *(HoneVector<{0}, kLanes>*)(out{1} + e) = r{1};\n",
                                        memory(program_.outputs[k].dtype), k);
    text += "    } else {\n#pragma unroll 1\n      for (; e < n; ++e) " + single() + "\n    }\n  }\n}\n";
    return text;
  }

  const PointwiseProgram& program_;
  Walk walk_;
  std::vector<bool> only_rounded_;
  std::vector<InputKind> kinds_;
  std::size_t widest_ = 1;
  int lanes_ = 1, vectors_ = 1;
};

}  // namespace

Result<PointwiseKernel> generate_pointwise(const PointwiseProgram& program) {
  HONE_CHECK(program.verify());
  for (const PointwiseOutput& output : program.outputs) {
    if (output.reduce != ReduceOp::kNone)
      return unsupported("pointwise kernels of a GPU: reductions are kernels of their own");
  }
  if (program.outputs.empty()) return invalid("pointwise kernel: nothing to write");
  PointwiseKernel kernel;
  const PointwiseWriter writer(program);
  // Products and sums are rounded each by itself, as in kernels of one operator: fusing changes no number.
  kernel.source = {.name = "pointwise.cu", .text = writer.write(), .options = {"--fmad=false"}};
  kernel.elements = element_count(program.shape);
  kernel.elements_a_block = writer.elements_a_block();
  kernel.uses_local_memory = std::any_of(program.instructions.begin(), program.instructions.end(),
                                         [](const PointwiseInstruction& at) {
                                           return at.op == Op::kSin || at.op == Op::kCos || at.op == Op::kTan;
                                         });
  return kernel;
}

}  // namespace hone::kernels::gpu
