#include "trace/import/xplane/hlo_cost.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::xplane {
namespace {

// What an instruction does with its elements.
enum class Does : uint8_t {
  kNothing,   // names values: no work of its own
  kComputes,  // one operation an element of its result
  kConverts,  // the same without arithmetic
  kReduces,
  kMoves,
  kReorders,
  kCollects,  // over several devices
  kRuns,      // other instructions
  kProduct,
  kConvolves,
  kFusion,
  kCustom,
};

struct OpcodeRow {
  std::string_view opcode;
  Does does;
};

// Opcodes by xla/hlo/ir/hlo_opcode.h, in alphabetical order. Those that are not here move their operands.
constexpr OpcodeRow kOpcodes[] = {
    {"abs", Does::kComputes},
    {"add", Does::kComputes},
    {"add-dependency", Does::kNothing},
    {"after-all", Does::kNothing},
    {"all-gather", Does::kCollects},
    {"all-gather-done", Does::kNothing},
    {"all-gather-start", Does::kCollects},
    {"all-reduce", Does::kCollects},
    {"all-reduce-done", Does::kNothing},
    {"all-reduce-start", Does::kCollects},
    {"all-to-all", Does::kCollects},
    {"and", Does::kComputes},
    {"async-done", Does::kNothing},
    {"async-start", Does::kRuns},
    {"async-update", Does::kNothing},
    {"atan2", Does::kComputes},
    {"bitcast", Does::kNothing},
    {"bitcast-convert", Does::kConverts},
    {"call", Does::kRuns},
    {"cbrt", Does::kComputes},
    {"ceil", Does::kComputes},
    {"clamp", Does::kComputes},
    {"collective-broadcast", Does::kCollects},
    {"collective-permute", Does::kCollects},
    {"collective-permute-done", Does::kNothing},
    {"collective-permute-start", Does::kCollects},
    {"compare", Does::kComputes},
    {"conditional", Does::kRuns},
    {"constant", Does::kNothing},
    {"convert", Does::kConverts},
    {"convolution", Does::kConvolves},
    {"copy", Does::kReorders},
    {"copy-done", Does::kNothing},
    {"cosine", Does::kComputes},
    {"custom-call", Does::kCustom},
    {"divide", Does::kComputes},
    {"domain", Does::kNothing},
    {"dot", Does::kProduct},
    {"erf", Does::kComputes},
    {"exponential", Does::kComputes},
    {"exponential-minus-one", Does::kComputes},
    {"floor", Does::kComputes},
    {"fusion", Does::kFusion},
    {"get-tuple-element", Does::kNothing},
    {"is-finite", Does::kComputes},
    {"log", Does::kComputes},
    {"log-plus-one", Does::kComputes},
    {"logistic", Does::kComputes},
    {"maximum", Does::kComputes},
    {"minimum", Does::kComputes},
    {"multiply", Does::kComputes},
    {"negate", Does::kComputes},
    {"not", Does::kComputes},
    {"opt-barrier", Does::kNothing},
    {"or", Does::kComputes},
    {"parameter", Does::kNothing},
    {"partition-id", Does::kNothing},
    {"popcnt", Does::kComputes},
    {"power", Does::kComputes},
    {"ragged-all-to-all", Does::kCollects},
    {"recv-done", Does::kNothing},
    {"reduce", Does::kReduces},
    {"reduce-precision", Does::kComputes},
    {"reduce-scatter", Does::kCollects},
    {"reduce-window", Does::kReduces},
    {"remainder", Does::kComputes},
    {"replica-id", Does::kNothing},
    {"round-nearest-afz", Does::kComputes},
    {"round-nearest-even", Does::kComputes},
    {"rsqrt", Does::kComputes},
    {"select", Does::kComputes},
    {"select-and-scatter", Does::kReduces},
    {"send-done", Does::kNothing},
    {"shift-left", Does::kComputes},
    {"shift-right-arithmetic", Does::kComputes},
    {"shift-right-logical", Does::kComputes},
    {"sign", Does::kComputes},
    {"sine", Does::kComputes},
    {"sqrt", Does::kComputes},
    {"subtract", Does::kComputes},
    {"tan", Does::kComputes},
    {"tanh", Does::kComputes},
    {"transpose", Does::kReorders},
    {"tuple", Does::kNothing},
    {"while", Does::kRuns},
    {"xor", Does::kComputes},
};

Does does_of(std::string_view opcode) {
  const auto at =
      std::lower_bound(std::begin(kOpcodes), std::end(kOpcodes), opcode,
                       [](const OpcodeRow& row, std::string_view name) { return row.opcode < name; });
  return at != std::end(kOpcodes) && at->opcode == opcode ? at->does : Does::kMoves;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_matrix_call(std::string_view target) {
  return contains(target, "gemm") || contains(target, "matmul") || contains(target, "$dot");
}
bool is_convolution_call(std::string_view target) { return contains(target, "$conv"); }
bool is_attention_call(std::string_view target) {
  return contains(target, "fmha") || contains(target, "attention");
}

double window_elements(const HloInstruction& instruction) {
  double count = 1;
  for (const HloWindowDim& dim : instruction.window)
    count *= static_cast<double>(std::max<int64_t>(dim.size, 1));
  return count;
}

int64_t dim_of(const HloShape& shape, int64_t i) {
  return i >= 0 && static_cast<std::size_t>(i) < shape.dims.size() ? shape.dims[static_cast<std::size_t>(i)]
                                                                   : 0;
}

// How often an element of the filter meets one of the image, along one dimension: what lies in the padding or
// between dilated elements is not multiplied.
double meetings(const HloWindowDim& window, int64_t input, int64_t output) {
  constexpr int64_t kMostCounted = 1'000'000;  // else all are taken to meet
  const int64_t size = std::max<int64_t>(window.size, 0), base = std::max<int64_t>(window.base_dilation, 1);
  output = std::max<int64_t>(output, 0);
  if (size > kMostCounted || output > kMostCounted || size * output > kMostCounted || input <= 0 ||
      input > (int64_t{1} << 40) / base || std::abs(window.padding_low) > (int64_t{1} << 40) ||
      std::abs(window.stride) > (int64_t{1} << 20) || std::abs(window.dilation) > (int64_t{1} << 20))
    return static_cast<double>(size) * static_cast<double>(output);
  const int64_t dilated = (input - 1) * base + 1;
  double count = 0;
  for (int64_t k = 0; k < size; ++k)
    for (int64_t o = 0; o < output; ++o) {
      const int64_t at = o * window.stride - window.padding_low + k * std::max<int64_t>(window.dilation, 1);
      count += at >= 0 && at < dilated && at % base == 0 ? 1 : 0;
    }
  return count;
}

// "lhs_contracting_dimensions":["1"] in the JSON of a custom call.
std::vector<int64_t> listed_integers(std::string_view json, std::string_view key) {
  std::vector<int64_t> values;
  std::size_t at = json.find(fmt::format("\"{}\":[", key));
  if (at == std::string_view::npos) return values;
  at = json.find('[', at) + 1;
  int64_t value = 0;
  bool digits = false;
  for (; at < json.size() && values.size() < 8; ++at) {
    const char c = json[at];
    if (c >= '0' && c <= '9' && value < 1000) {
      value = value * 10 + (c - '0');
      digits = true;
    } else if (digits && (c < '0' || c > '9')) {
      values.push_back(value);
      value = 0;
      digits = false;
    }
    if (c == ']') break;
  }
  return values;
}

DType float_type(const HloShape& shape) {
  if (shape.parts.empty())
    return is_float(shape.dtype) || is_complex(shape.dtype) ? shape.dtype : DType::kUndefined;
  for (const HloShape& part : shape.parts)
    if (const DType type = float_type(part); type != DType::kUndefined) return type;
  return DType::kUndefined;
}

std::string shape_text(const HloShape& shape) {
  const HloShape& array = shape.first();
  return fmt::format("{} {}", aten::dims_text(array.dims), dtype_name(array.dtype));
}

}  // namespace

HloCosts::HloCosts(const HloModule& module) : module_(module) {
  by_id_.resize(module.computations.size());
  inside_.resize(module.computations.size());
  for (std::size_t place = 0; place < module.computations.size(); ++place) {
    const HloComputation& computation = module.computations[place];
    place_.emplace(computation.id, place);
    for (const HloInstruction& row : computation.instructions) by_id_[place].emplace(row.id, &row);
    Inside& inside = inside_[place];
    for (const HloInstruction& row : computation.instructions) {
      const double flops = flops_of(by_id_[place], row, place);
      inside.flops += flops;
      const Does does = does_of(row.opcode);
      if ((does == Does::kProduct || does == Does::kConvolves) && flops >= inside.product_flops) {
        inside.product = &row;
        inside.product_flops = flops;
      }
      inside.reduces = inside.reduces || does == Does::kReduces;
      inside.computes = inside.computes || does == Does::kComputes || does == Does::kConverts;
      inside.reorders = inside.reorders || does == Does::kReorders;
      inside.moves = inside.moves || does == Does::kMoves;
    }
  }
}

std::size_t HloCosts::place_of(const HloComputation& computation) const {
  return static_cast<std::size_t>(&computation - module_.computations.data());
}

const HloInstruction* HloCosts::operand(const ById& by_id, const HloInstruction& instruction,
                                        std::size_t i) const {
  if (i >= instruction.operands.size()) return nullptr;
  const auto at = by_id.find(instruction.operands[i]);
  return at == by_id.end() ? nullptr : at->second;
}

// Computations stand before those that call them, so that none is asked for before it is known.
const HloCosts::Inside* HloCosts::inside_of(const HloInstruction& instruction, std::size_t before) const {
  if (instruction.called.empty()) return nullptr;
  const auto at = place_.find(instruction.called.front());
  return at == place_.end() || at->second >= before ? nullptr : &inside_[at->second];
}

double HloCosts::dot_flops(const ById& by_id, const HloInstruction& instruction) const {
  const HloInstruction* left = operand(by_id, instruction, 0);
  if (left == nullptr) return 0;
  double inner = 1;
  for (const int64_t dim : instruction.contracted)
    inner *= static_cast<double>(dim_of(left->shape.first(), dim));
  return 2 * instruction.shape.first().elements() * inner;
}

// A cuDNN call for a gradient has the roles of image, filter and result exchanged.
double HloCosts::convolution_flops(const ById& by_id, const HloInstruction& instruction) const {
  const HloInstruction *first = operand(by_id, instruction, 0), *second = operand(by_id, instruction, 1);
  if (first == nullptr || second == nullptr) return 0;
  const HloShape *image = &first->shape.first(), *filter = &second->shape.first(),
                 *result = &instruction.shape.first();
  if (contains(instruction.custom_call_target, "BackwardInput")) std::swap(image, result);
  if (contains(instruction.custom_call_target, "BackwardFilter")) std::swap(filter, result);
  const HloConvolutionDims& dims = instruction.convolution;
  // All elements of the filter meet all positions of the result but for the result's channels, counted in both.
  const double channels =
      static_cast<double>(std::max<int64_t>(dim_of(*filter, dims.kernel_output_feature), 1));
  double flops = 2 * result->elements() * filter->elements() / channels;
  for (std::size_t i = 0; i < instruction.window.size(); ++i) {
    if (i >= dims.input_spatial.size() || i >= dims.output_spatial.size()) break;
    const int64_t output = dim_of(*result, dims.output_spatial[i]);
    const double all = static_cast<double>(output) * static_cast<double>(instruction.window[i].size);
    if (all > 0)
      flops *= meetings(instruction.window[i], dim_of(*image, dims.input_spatial[i]), output) / all;
  }
  return flops;
}

double HloCosts::custom_flops(const ById& by_id, const HloInstruction& instruction) const {
  if (is_convolution_call(instruction.custom_call_target)) return convolution_flops(by_id, instruction);
  if (!is_matrix_call(instruction.custom_call_target)) return 0;
  const HloInstruction *left = operand(by_id, instruction, 0), *right = operand(by_id, instruction, 1);
  if (left == nullptr || right == nullptr) return 0;
  const std::vector<int64_t> contracted =
      listed_integers(instruction.backend_config, "lhs_contracting_dimensions");
  const double result = instruction.shape.first().elements();
  if (contracted.empty())  // M·K × K·N → M·N
    return 2 * std::sqrt(left->shape.first().elements() * right->shape.first().elements() * result);
  double inner = 1;
  for (const int64_t dim : contracted) inner *= static_cast<double>(dim_of(left->shape.first(), dim));
  return 2 * result * inner;
}

double HloCosts::flops_of(const ById& by_id, const HloInstruction& instruction, std::size_t place) const {
  switch (does_of(instruction.opcode)) {
    case Does::kComputes:
      return instruction.shape.elements();
    case Does::kProduct:
      return dot_flops(by_id, instruction);
    case Does::kConvolves:
      return convolution_flops(by_id, instruction);
    case Does::kCustom:
      return custom_flops(by_id, instruction);
    case Does::kFusion: {
      const Inside* inside = inside_of(instruction, place);
      return inside == nullptr ? 0 : inside->flops;
    }
    case Does::kReduces: {
      const Inside* inside = inside_of(instruction, place);
      const HloInstruction* input = operand(by_id, instruction, 0);
      if (input == nullptr) return 0;
      const double each = inside == nullptr ? 1 : std::max(inside->flops, 1.0);
      const double result = instruction.shape.first().elements();
      if (instruction.opcode == "reduce")
        return std::max(input->shape.first().elements() - result, 0.0) * each;
      return result * std::max(window_elements(instruction) - 1, 0.0) * each;
    }
    default:
      return 0;
  }
}

void HloCosts::add_fusion_bytes(const ById& by_id, const HloInstruction& instruction, HloCost& cost) const {
  const auto place = instruction.called.empty() ? place_.end() : place_.find(instruction.called.front());
  if (place == place_.end()) return;
  const HloComputation& fused = module_.computations[place->second];
  const ById& inside = by_id_[place->second];
  // Of a parameter that is only sliced, what the slices take; of one that is only overwritten in part, nothing.
  struct Use {
    double sliced = 0;
    bool whole = false;
  };
  std::unordered_map<int64_t, Use> uses;
  for (const HloInstruction& row : fused.instructions) {
    const bool slices = row.opcode == "slice" || row.opcode == "dynamic-slice" || row.opcode == "gather";
    const bool overwrites = row.opcode == "dynamic-update-slice";
    for (std::size_t i = 0; i < row.operands.size(); ++i) {
      Use& use = uses[row.operands[i]];
      if (i == 0 && slices)
        use.sliced += row.shape.bytes();
      else if (i != 0 || !overwrites)
        use.whole = true;
    }
  }
  for (const HloInstruction& row : fused.instructions) {
    if (row.opcode != "parameter") continue;
    const Use& use = uses[row.id];
    cost.bytes_read += use.whole ? row.shape.bytes() : std::min(use.sliced, row.shape.bytes());
  }
  const auto written = [&](const HloInstruction& row) {
    const HloInstruction* update = operand(inside, row, 1);
    return row.opcode == "dynamic-update-slice" && update != nullptr ? update->shape.bytes()
                                                                     : row.shape.bytes();
  };
  const auto root = inside.find(fused.root);
  if (root == inside.end()) {
    cost.bytes_written += instruction.shape.bytes();
  } else if (root->second->opcode == "tuple") {
    for (std::size_t i = 0; i < root->second->operands.size(); ++i)
      if (const HloInstruction* part = operand(inside, *root->second, i))
        cost.bytes_written += written(*part);
  } else {
    cost.bytes_written += written(*root->second);
  }
  (void)by_id;
}

void HloCosts::add_bytes(const ById& by_id, const HloInstruction& instruction, HloCost& cost) const {
  const std::string_view opcode = instruction.opcode;
  const double result = instruction.shape.bytes();
  if (opcode == "fusion") return add_fusion_bytes(by_id, instruction, cost);
  std::size_t first = 0;
  cost.bytes_written = result;
  if (opcode == "slice" || opcode == "dynamic-slice" || opcode == "gather") {
    cost.bytes_read = result;
    first = 1;
  } else if (opcode == "dynamic-update-slice") {
    const HloInstruction* update = operand(by_id, instruction, 1);
    cost.bytes_written = update == nullptr ? result : update->shape.bytes();
    first = 1;
  } else if (opcode == "scatter") {
    const HloInstruction* updates = operand(by_id, instruction, instruction.operands.size() - 1);
    cost.bytes_written = updates == nullptr ? result : updates->shape.bytes();
    cost.bytes_read = cost.bytes_written;
    first = 1;
  }
  for (std::size_t i = first; i < instruction.operands.size(); ++i)
    if (const HloInstruction* from = operand(by_id, instruction, i)) cost.bytes_read += from->shape.bytes();
}

void HloCosts::describe(const ById& by_id, const HloInstruction& instruction, const HloInstruction* product,
                        const ById* inside, HloCost& cost) const {
  if (product != nullptr) {
    const ById& of_product = inside != nullptr ? *inside : by_id;
    const HloInstruction *left = operand(of_product, *product, 0), *right = operand(of_product, *product, 1);
    if (left != nullptr && right != nullptr) {
      cost.geometry = fmt::format("{} · {}", aten::dims_text(left->shape.first().dims),
                                  aten::dims_text(right->shape.first().dims));
      cost.dtype = float_type(left->shape);
    }
    // What XLA hands to a library says it once more, in the library's words.
    cost.default_precision = !product->asks_for_precision && !contains(product->backend_config, "HIGHEST");
    return;
  }
  const HloShape* largest = &instruction.shape.first();
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    if (const HloInstruction* from = operand(by_id, instruction, i);
        from != nullptr && from->shape.first().elements() > largest->elements())
      largest = &from->shape.first();
  cost.geometry = shape_text(*largest);
  cost.dtype = float_type(instruction.shape);
  for (std::size_t i = 0; cost.dtype == DType::kUndefined && i < instruction.operands.size(); ++i)
    if (const HloInstruction* from = operand(by_id, instruction, i)) cost.dtype = float_type(from->shape);
  if (cost.dtype == DType::kUndefined) cost.dtype = instruction.shape.first().dtype;
}

HloCost HloCosts::of(const HloComputation& computation, const HloInstruction& instruction) const {
  HloCost cost;
  const std::size_t place = place_of(computation);
  const ById& by_id = by_id_[place];
  const Does does = does_of(instruction.opcode);
  const Inside* inside = does == Does::kFusion ? inside_of(instruction, place) : nullptr;
  const HloInstruction* product = nullptr;
  const ById* around_product = nullptr;
  switch (does) {
    case Does::kNothing:
      return cost;
    case Does::kRuns:
      cost.runs_others = true;
      return cost;
    case Does::kComputes:
    case Does::kConverts:
      cost.op_class = OperatorClass::kPointwise;
      break;
    case Does::kReduces:
      cost.op_class = instruction.opcode == "reduce" ? OperatorClass::kReduction : OperatorClass::kPooling;
      break;
    case Does::kMoves:
      cost.op_class = OperatorClass::kMovement;
      break;
    case Does::kReorders:
      cost.op_class = OperatorClass::kLayout;
      break;
    case Does::kCollects:
      cost.is_collective = true;
      break;
    case Does::kProduct:
      cost.op_class = OperatorClass::kMatrix;
      product = &instruction;
      break;
    case Does::kConvolves:
      cost.op_class = OperatorClass::kConvolution;
      product = &instruction;
      break;
    case Does::kCustom:
      if (is_convolution_call(instruction.custom_call_target))
        cost.op_class = OperatorClass::kConvolution;
      else if (is_matrix_call(instruction.custom_call_target) ||
               is_attention_call(instruction.custom_call_target))
        cost.op_class = OperatorClass::kMatrix;
      if (cost.op_class != OperatorClass::kOther && !is_attention_call(instruction.custom_call_target))
        product = &instruction;
      break;
    case Does::kFusion:
      if (inside == nullptr) return cost;
      if (inside->product != nullptr && inside->product_flops >= 0.5 * inside->flops) {
        product = inside->product;
        around_product = &by_id_[static_cast<std::size_t>(inside - inside_.data())];
        cost.op_class = product->opcode == "dot" ? OperatorClass::kMatrix : OperatorClass::kConvolution;
      } else {
        cost.op_class = inside->reduces                      ? OperatorClass::kReduction
                        : inside->computes                   ? OperatorClass::kPointwise
                        : inside->reorders && !inside->moves ? OperatorClass::kLayout
                                                             : OperatorClass::kMovement;
      }
      break;
  }
  describe(by_id, instruction, product, around_product, cost);
  if (does == Does::kCustom && product == nullptr) return cost;
  cost.flops = flops_of(by_id, instruction, place);
  add_bytes(by_id, instruction, cost);
  return cost;
}

}  // namespace hone::trace::xplane
