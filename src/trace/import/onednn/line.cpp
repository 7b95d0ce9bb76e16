#include "trace/import/onednn/line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace hone::trace::onednn {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes = {"onednn_verbose,", "dnnl_verbose,"};

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    return std::nullopt;
  return value;
}

struct PrimitiveRow {
  std::string_view name;
  OperatorClass op_class;
};

constexpr PrimitiveRow kPrimitives[] = {
    {"convolution", OperatorClass::kConvolution},
    {"deconvolution", OperatorClass::kConvolution},
    {"inner_product", OperatorClass::kMatrix},
    {"matmul", OperatorClass::kMatrix},
    {"rnn", OperatorClass::kMatrix},
    {"pooling", OperatorClass::kPooling},
    {"pooling_v2", OperatorClass::kPooling},
    {"eltwise", OperatorClass::kPointwise},
    {"binary", OperatorClass::kPointwise},
    {"sum", OperatorClass::kPointwise},
    {"prelu", OperatorClass::kPointwise},
    {"batch_normalization", OperatorClass::kNormalization},
    {"layer_normalization", OperatorClass::kNormalization},
    {"group_normalization", OperatorClass::kNormalization},
    {"lrn", OperatorClass::kNormalization},
    {"softmax", OperatorClass::kReduction},
    {"softmax_v2", OperatorClass::kReduction},
    {"logsoftmax", OperatorClass::kReduction},
    {"reduction", OperatorClass::kReduction},
    {"concat", OperatorClass::kMovement},
    {"shuffle", OperatorClass::kMovement},
    {"resampling", OperatorClass::kMovement},
    {"reorder", OperatorClass::kLayout},
};

// oneDNN's names of types.
DType type_named(std::string_view name) {
  if (name == "s8") return DType::kI8;
  if (name == "u8") return DType::kU8;
  if (name == "s32") return DType::kI32;
  return dtype_from_name(name).value_or(DType::kUndefined);
}

// "src:f32:a:blocked:abcd::f0", before version 3 "src_f32::blocked:abcd:f0": the tensors by role, with their types.
std::map<std::string, DType, std::less<>> tensors_of(std::string_view descriptors) {
  std::map<std::string, DType, std::less<>> tensors;
  for (const std::string_view each : split(descriptors, ' ')) {
    const std::vector<std::string_view> fields = split(each, ':');
    std::string_view role = fields[0], type = fields.size() > 1 ? fields[1] : std::string_view();
    if (const std::size_t line = role.rfind('_'); type.empty() && line != std::string_view::npos) {
      type = role.substr(line + 1);
      role = role.substr(0, line);
    }
    if (const DType dtype = type_named(type); dtype != DType::kUndefined) tensors[std::string(role)] = dtype;
  }
  return tensors;
}

// "mb2_ic16oc32_ih32oh32kh3": the sizes by name.
std::map<std::string, double, std::less<>> named_sizes(std::string_view problem) {
  std::map<std::string, double, std::less<>> sizes;
  std::string name;
  for (std::size_t at = 0; at < problem.size();) {
    const char c = problem[at];
    if (c >= 'a' && c <= 'z') {
      name += c;
      ++at;
    } else if (c >= '0' && c <= '9') {
      uint32_t value = 0;
      const auto [end, error] = std::from_chars(problem.data() + at, problem.data() + problem.size(), value);
      if (error != std::errc()) break;
      sizes.emplace(name, value);
      name.clear();
      at = static_cast<std::size_t>(end - problem.data());
    } else {
      name.clear();
      ++at;
    }
  }
  return sizes;
}

// "2x16x32": 2, 16, 32; empty where it is nothing of that kind.
std::vector<double> extents(std::string_view text) {
  std::vector<double> sizes;
  for (const std::string_view part : split(text, 'x')) {
    const auto size = real_number(part);
    if (!size) return {};
    sizes.push_back(*size);
  }
  return sizes;
}

double product(const std::vector<double>& sizes) {
  double all = 1;
  for (const double size : sizes) all *= size;
  return all;
}

class Costs {
 public:
  Costs(std::string_view descriptors, std::string_view problem)
      : tensors_(tensors_of(descriptors)), sizes_(named_sizes(problem)), problem_(problem) {}

  DType type() const {
    for (const char* role : {"wei", "src", "src0", "data", "dst", "src_layer", "src_iter"})
      if (const auto at = tensors_.find(role); at != tensors_.end()) return at->second;
    return tensors_.empty() ? DType::kUndefined : tensors_.begin()->second;
  }

  void fill(std::string_view primitive, OperatorClass op_class, Operator& op) const {
    if (op_class == OperatorClass::kConvolution) return convolution(primitive == "deconvolution", op);
    if (primitive == "inner_product") return inner_product(op);
    if (primitive == "matmul") return matmul(op);
    if (op_class == OperatorClass::kPooling) return pooling(op);
    if (primitive == "rnn") return;  // what its cells compute depends on their kind
    // The sizes of its sources, of which the result has those of the largest.
    double largest = 0;
    const std::vector<std::string_view> sources = split(problem_, ':');
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::vector<double> shape = extents(sources[i]);
      if (shape.empty()) continue;
      const std::string role = sources.size() > 1 && has("src1") ? fmt::format("src{}", i) : "src";
      op.bytes_read += product(shape) * bytes(role);
      largest = std::max(largest, product(shape));
    }
    op.bytes_written = largest * bytes("dst");
    if (op_class != OperatorClass::kLayout && op_class != OperatorClass::kMovement) op.flops = largest;
  }

 private:
  bool has(std::string_view role) const { return tensors_.contains(role); }
  // Of an element; of a tensor that has no type of its own as of all.
  double bytes(std::string_view role) const {
    const auto at = tensors_.find(role);
    return static_cast<double>(dtype_size(at != tensors_.end() ? at->second : type()));
  }
  double size(std::string_view name) const {
    const auto at = sizes_.find(name);
    return at == sizes_.end() ? 1 : at->second;
  }
  double volume(char of) const {
    double all = 1;
    for (const char axis : {'d', 'h', 'w'}) all *= size(std::string{of, axis});
    return all;
  }

  void convolution(bool transposed, Operator& op) const {
    const double source = size("mb") * size("ic") * volume('i'),
                 target = size("mb") * size("oc") * volume('o');
    const double weights = size("oc") * size("ic") / size("g") * volume('k');
    op.flops = 2 * (transposed ? source * size("oc") : target * size("ic")) / size("g") * volume('k');
    read_and_write(source, weights, target, op);
  }
  void inner_product(Operator& op) const {
    const double inner = size("ic") * volume('i');
    op.flops = 2 * size("mb") * inner * size("oc");
    read_and_write(size("mb") * inner, inner * size("oc"), size("mb") * size("oc"), op);
  }
  void read_and_write(double source, double weights, double target, Operator& op) const {
    op.constant_bytes = weights * bytes("wei");
    op.bytes_read = source * bytes("src") + op.constant_bytes;
    op.bytes_written = target * bytes("dst");
  }
  // "8x128:128x256", with batches in front.
  void matmul(Operator& op) const {
    const std::vector<std::string_view> both = split(problem_, ':');
    const std::vector<double> left = extents(both[0]);
    const std::vector<double> right = both.size() > 1 ? extents(both[1]) : std::vector<double>();
    if (left.size() < 2 || left.size() != right.size()) return;
    double target = left[left.size() - 2] * right.back();
    for (std::size_t i = 0; i + 2 < left.size(); ++i) target *= std::max(left[i], right[i]);
    op.flops = 2 * target * left.back();
    op.bytes_read = product(left) * bytes("src") + product(right) * bytes("wei");
    op.bytes_written = target * bytes("dst");
  }
  void pooling(Operator& op) const {
    const double source = size("mb") * size("ic") * volume('i'),
                 target = size("mb") * size("ic") * volume('o');
    op.flops = target * volume('k');
    op.bytes_read = source * bytes("src");
    op.bytes_written = target * bytes("dst");
  }

  std::map<std::string, DType, std::less<>> tensors_;
  std::map<std::string, double, std::less<>> sizes_;
  std::string_view problem_;
};

}  // namespace

bool is_verbose_line(std::string_view line) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return line.starts_with(prefix); });
}

std::optional<Execution> parse_line(std::string_view line) {
  if (!is_verbose_line(line)) return std::nullopt;
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  std::vector<std::string_view> fields = split(line, ',');
  fields.erase(fields.begin());
  if (!fields.empty() && fields.front() == "v1") fields.erase(fields.begin());
  Execution execution;
  if (!fields.empty() && (execution.start_ms = real_number(fields.front()))) fields.erase(fields.begin());
  if (!fields.empty() && fields.front() == "primitive") fields.erase(fields.begin());
  // exec, engine, primitive, implementation, propagation, descriptors, attributes, more, problem, milliseconds
  constexpr std::size_t kFields = 10;
  if (fields.size() != kFields || fields.front() != "exec") return std::nullopt;
  const auto ms = real_number(fields[9]);
  if (!ms) return std::nullopt;
  execution.ms = *ms;
  Operator& op = execution.op;
  const std::string_view primitive = fields[2], problem = fields[8];
  op.kind = std::string(primitive);
  for (const PrimitiveRow& row : kPrimitives)
    if (row.name == primitive) op.op_class = row.op_class;
  op.implementation = fmt::format("onednn:{}", fields[3]);
  op.geometry = std::string(problem);
  op.device = std::string(fields[1]);
  if (fields[4].starts_with("backward"))
    op.phase = Phase::kBackward;
  else if (fields[4].starts_with("forward"))
    op.phase = Phase::kForward;
  const Costs costs(fields[5], problem);
  op.dtype = costs.type();
  costs.fill(primitive, op.op_class, op);
  op.name = fmt::format("{} {} {} {}", primitive, problem, dtype_name(op.dtype), fields[3]);
  return execution;
}

}  // namespace hone::trace::onednn
