#include "analyze/device/busy/operator_inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

// The dimension, of more than one element, along which elements lie closest; a packed tensor has no
// strides, and those of a damaged trace say nothing.
std::size_t innermost(const trace::CallInput& input) {
  const bool packed = input.strides.size() != input.dims.size();
  std::size_t best = input.dims.size();
  for (std::size_t k = 0; k < input.dims.size(); ++k) {
    if (input.dims[k] <= 1) continue;
    if (best == input.dims.size() || packed || input.strides[k] <= input.strides[best]) best = k;
  }
  return best;
}

// All dimensions but the last two are one long, or are repeated without being stored.
bool is_same_for_all(const trace::CallInput& mask) {
  for (std::size_t k = 0; k + 2 < mask.dims.size(); ++k)
    if (mask.dims[k] != 1 && (mask.strides.size() != mask.dims.size() || mask.strides[k] != 0)) return false;
  return true;
}

// Elements from one row of a matrix to the next: rows that are padded in memory begin where they should.
int64_t row_length(const trace::CallInput& matrix) {
  const std::size_t along = innermost(matrix), rank = matrix.dims.size();
  if (along == rank) return 0;
  if (matrix.strides.size() != rank || along + 2 < rank) return matrix.dims[along];
  const std::size_t across = along + 1 == rank ? rank - 2 : rank - 1;
  return matrix.dims[across] > 1 ? matrix.strides[across] : matrix.dims[along];
}

bool is_odd(int64_t size) { return size > kAlignment && size % kAlignment != 0; }

}  // namespace

bool is_tensor(const Inputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i].kind == trace::CallInput::Kind::kTensor;
}

double largest_tensor(const Inputs& inputs) {
  double largest = 0;
  for (const trace::CallInput& input : inputs) {
    if (input.kind == trace::CallInput::Kind::kTensor)
      largest = std::max(largest, static_cast<double>(input.elements()));
    for (const trace::CallInput& item : input.items)
      largest = std::max(largest, static_cast<double>(item.elements()));
  }
  return largest;
}

double broadcast_elements(const Inputs& inputs) {
  std::vector<int64_t> shape;  // from the last dimension
  for (const trace::CallInput& input : inputs) {
    if (input.kind != trace::CallInput::Kind::kTensor) continue;
    shape.resize(std::max(shape.size(), input.dims.size()), 1);
    for (std::size_t k = 0; k < input.dims.size(); ++k) {
      const int64_t size = input.dims[input.dims.size() - 1 - k];
      if (shape[k] != 1 && size != 1 && shape[k] != size) return 0;
      if (shape[k] == 1) shape[k] = size;
    }
  }
  double elements = shape.empty() ? 0 : 1;
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

bool is_image(const Inputs& inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const trace::CallInput& input) { return input.dims.size() == 4; });
}

bool is_of_patches(const Inputs& inputs) {
  if (!is_image(inputs) || !is_tensor(inputs, 0) || !is_tensor(inputs, 1)) return false;
  const auto &image = inputs[0].dims, &filter = inputs[1].dims;
  if (image.size() != 4 || filter.size() != 4 || image[1] != filter[1] || filter[2] < 4 || filter[3] < 1)
    return false;
  const auto stride = std::find_if(inputs.begin(), inputs.end(), [&](const trace::CallInput& input) {
    return input.kind == trace::CallInput::Kind::kValue &&
           input.value == fmt::format("[{},{}]", filter[2], filter[3]);
  });
  return stride != inputs.end() && image[2] % filter[2] == 0 && image[3] % filter[3] == 0;
}

bool has_odd_size(const Inputs& inputs) {
  const trace::CallInput* last = nullptr;  // the product's columns are its result's, which lies packed
  for (const trace::CallInput& input : inputs) {
    if (input.kind != trace::CallInput::Kind::kTensor || input.dims.size() < 2) continue;
    if (is_odd(row_length(input))) return true;
    last = &input;
  }
  return last != nullptr && is_odd(last->dims.back());
}

bool has_odd_channels(const Inputs& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const trace::CallInput& input) {
    return input.kind == trace::CallInput::Kind::kTensor && input.dims.size() >= 3 && is_odd(input.dims[1]);
  });
}

bool mixes_orders(const Inputs& inputs, double elements) {
  const trace::CallInput* first = nullptr;
  for (const trace::CallInput& input : inputs) {
    if (input.kind != trace::CallInput::Kind::kTensor) continue;
    if (static_cast<double>(input.elements()) < elements || input.repeats()) continue;
    if (first == nullptr)
      first = &input;
    else if (first->dims == input.dims && innermost(*first) != innermost(input))
      return true;
  }
  return false;
}

bool reads_square_mask(const Inputs& inputs) {
  constexpr std::size_t kOperands = 3;  // queries, keys, values
  if (inputs.size() <= kOperands || !is_tensor(inputs, 0)) return false;
  const auto& query = inputs[0].dims;
  return std::any_of(inputs.begin() + kOperands, inputs.end(), [&](const trace::CallInput& input) {
    const std::size_t rank = input.dims.size();
    if (rank < 2 || input.dims[rank - 1] != input.dims[rank - 2]) return false;
    const int64_t length = input.dims[rank - 1];
    return length >= kAttentionLength && std::find(query.begin(), query.end(), length) != query.end() &&
           is_same_for_all(input);
  });
}

bool changes_order(const trace::Operator& op, const Inputs& inputs) {
  if (op.op_class == trace::OperatorClass::kLayout) return true;
  if (op.what == trace::OperatorKind::kCopy && is_tensor(inputs, 0) && is_tensor(inputs, 1))
    return inputs[0].dtype == inputs[1].dtype && inputs[0].strides != inputs[1].strides &&
           inputs[0].dims == inputs[1].dims && !inputs[1].repeats();
  return false;
}

bool is_cast(const trace::Operator& op, const Inputs& inputs) {
  return op.what == trace::OperatorKind::kCopy && is_tensor(inputs, 0) && is_tensor(inputs, 1) &&
         inputs[0].dtype != inputs[1].dtype;
}

double appended_share(const trace::Operator& op, const Inputs& inputs) {
  if (op.what != trace::OperatorKind::kCat || inputs.empty() || inputs[0].items.size() < 2) return 0;
  const auto all = static_cast<double>(inputs[0].elements());
  const double rest = all > 0 ? 1 - static_cast<double>(inputs[0].items[0].elements()) / all : 1;
  return all >= kLargeAppend && rest <= kLittleAppended ? rest : 0;
}

}  // namespace hone::analyze::device
