// Einsum: every output element is the sum, over the labels that the output lacks, of the operands' product.
#include "core/einsum.h"

#include <map>

#include <fmt/core.h>

#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

// The extent of each label; an extent of 1 broadcasts.
Result<std::map<int, int64_t>> label_extents(const Einsum& einsum, std::span<const Tensor> inputs) {
  std::map<int, int64_t> extents;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t axis = 0; axis < einsum.operands[i].size(); ++axis) {
      const int64_t extent = inputs[i].shape()[axis];
      auto [at, fresh] = extents.emplace(einsum.operands[i][axis], extent);
      if (fresh || at->second == extent || extent == 1) continue;
      if (at->second != 1) {
        return invalid(fmt::format("a label of the equation has extents {} and {}", at->second, extent));
      }
      at->second = extent;
    }
  }
  return extents;
}

// Where an operand steps when each label of `labels` grows by one; 0 for labels that it lacks or broadcasts.
std::vector<int64_t> steps_of(const EinsumLabels& labels, const EinsumLabels& operand, const Shape& shape) {
  const std::vector<int64_t> strides = row_major_strides(shape);
  std::vector<int64_t> steps(labels.size(), 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t axis = 0; axis < operand.size(); ++axis) {
      if (operand[axis] == labels[i] && shape[axis] != 1) steps[i] += strides[axis];
    }
  }
  return steps;
}

template <typename T>
std::vector<T> contract(const Einsum& einsum, std::span<const Tensor> inputs,
                        const std::vector<std::vector<T>>& data, const std::map<int, int64_t>& extents) {
  EinsumLabels labels = einsum.output;  // output labels outside, summed labels inside
  labels.insert(labels.end(), einsum.summed.begin(), einsum.summed.end());
  Shape loop;
  for (int label : labels) loop.push_back(extents.at(label));
  std::vector<std::vector<int64_t>> steps;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    steps.push_back(steps_of(labels, einsum.operands[i], inputs[i].shape()));
  }
  const int64_t outputs = extent_product(loop, 0, einsum.output.size());
  const int64_t terms = extent_product(loop, einsum.output.size(), loop.size());
  std::vector<T> out(static_cast<std::size_t>(outputs), 0);
  if (outputs * terms == 0) return out;
  std::vector<int64_t> index(loop.size(), 0);
  std::vector<int64_t> at(inputs.size(), 0);
  for (int64_t flat = 0;; ++flat) {
    T product = 1;
    for (std::size_t i = 0; i < inputs.size(); ++i) product *= data[i][static_cast<std::size_t>(at[i])];
    out[static_cast<std::size_t>(flat / terms)] += product;
    std::size_t axis = loop.size();
    for (; axis-- > 0;) {
      for (std::size_t i = 0; i < inputs.size(); ++i) at[i] += steps[i][axis];
      if (++index[axis] < loop[axis]) break;
      for (std::size_t i = 0; i < inputs.size(); ++i) at[i] -= steps[i][axis] * loop[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) break;
  }
  return out;
}

Result<std::vector<Tensor>> einsum_kernel(const RefCall& call) {
  std::vector<int64_t> ranks;
  for (const Tensor& input : call.inputs) ranks.push_back(input.rank());
  HONE_ASSIGN(const Einsum einsum, parse_einsum(call.attributes.text("equation", ""), ranks));
  HONE_ASSIGN(const auto extents, label_extents(einsum, call.inputs));
  Shape shape;
  for (int label : einsum.output) shape.push_back(extents.at(label));
  HONE_CHECK(checked_element_count(shape));
  const DType dtype = call.inputs[0].dtype();
  if (is_integer(dtype)) {
    std::vector<std::vector<uint64_t>> data;
    for (const Tensor& input : call.inputs) data.push_back(widen<uint64_t>(input));
    return std::vector<Tensor>{narrow<uint64_t>(dtype, shape, contract(einsum, call.inputs, data, extents))};
  }
  std::vector<Wide> data;
  for (const Tensor& input : call.inputs) data.push_back(widen(input));
  return std::vector<Tensor>{rounded(dtype, shape, contract(einsum, call.inputs, data, extents))};
}

}  // namespace

void add_einsum_kernels(RefTable& table) { table.add("Einsum", einsum_kernel); }

}  // namespace hone::kernels::ref
