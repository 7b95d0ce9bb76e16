// Operators that move bytes because the model says so: look-ups, concatenation, padding, fills, sorting.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

std::string describe(std::span<const int64_t> dims, DType dtype) {
  return fmt::format("{} {}", dims_text(dims), dtype_name(dtype));
}

// embedding(weight[V,D], index): reads the index and a row for each
std::optional<OperatorCost> embedding(const Args& args, const Entry&) {
  const CallInput *weight = args.tensor(0), *index = args.tensor(1);
  if (weight == nullptr || index == nullptr || weight->dims.size() != 2) return std::nullopt;
  const double rows = elements(index->dims) * static_cast<double>(weight->dims[1]) *
                      static_cast<double>(dtype_size(weight->dtype));
  return OperatorCost{0, rows + index->stored_bytes(), rows, weight->dtype,
                      fmt::format("{} rows of {}", elements(index->dims), dims_text(weight->dims))};
}

// Bytes of the rows, each of `width` elements, that so many indices write of a gradient of `rows` rows. That
// gradient begins as zeros, which come from an operator that is called for them, and are counted there.
double rows_written(const CallInput& index, double rows, double width, DType dtype) {
  return std::min(elements(index.dims), rows) * width * static_cast<double>(dtype_size(dtype));
}

// embedding_dense_backward(gradient[…,D], index, V, …): adds each row to one of V
std::optional<OperatorCost> embedding_backward(const Args& args, const Entry&) {
  const CallInput *gradient = args.tensor(0), *index = args.tensor(1);
  const auto rows = args.number(2);
  if (gradient == nullptr || index == nullptr || gradient->dims.empty() || !rows) return std::nullopt;
  const auto width = static_cast<double>(gradient->dims.back());
  const double written = rows_written(*index, *rows, width, gradient->dtype);
  return OperatorCost{
      elements(gradient->dims), gradient->stored_bytes() + index->stored_bytes(), written, gradient->dtype,
      fmt::format("gradient, {} rows into {:.0f}×{}", elements(index->dims), *rows, gradient->dims.back())};
}

// _embedding_bag(weight[V,D], index, offsets[B], …): reads a row for each of the index and adds those of a
// bag
std::optional<OperatorCost> embedding_bag(const Args& args, const Entry&) {
  const CallInput *weight = args.tensor(0), *index = args.tensor(1), *bags = args.tensor(2);
  if (weight == nullptr || index == nullptr || bags == nullptr || weight->dims.size() != 2)
    return std::nullopt;
  const double row = static_cast<double>(weight->dims[1]) * static_cast<double>(dtype_size(weight->dtype));
  return OperatorCost{elements(index->dims) * static_cast<double>(weight->dims[1]),
                      elements(index->dims) * row + index->stored_bytes() + bags->bytes(),
                      elements(bags->dims) * row, weight->dtype,
                      fmt::format("{} rows of {} in {} bags", elements(index->dims), dims_text(weight->dims),
                                  elements(bags->dims))};
}

// _embedding_bag_dense_backward(gradient[B,D], index, bag of each, bags' sizes, maxima, V, …): adds a bag's
// row for each of its index to one of V
std::optional<OperatorCost> embedding_bag_backward(const Args& args, const Entry&) {
  const CallInput *gradient = args.tensor(0), *index = args.tensor(1), *bag_of = args.tensor(2);
  const auto rows = args.number(5);
  if (gradient == nullptr || index == nullptr || bag_of == nullptr || gradient->dims.size() != 2 || !rows)
    return std::nullopt;
  const auto width = static_cast<double>(gradient->dims[1]);
  const double written = rows_written(*index, *rows, width, gradient->dtype);
  return OperatorCost{
      elements(index->dims) * width, gradient->stored_bytes() + index->stored_bytes() + bag_of->bytes(),
      written, gradient->dtype,
      fmt::format("gradient, {} rows into {:.0f}×{}", elements(index->dims), *rows, gradient->dims[1])};
}

// index_copy_(x, axis, index, source): writes as many slices as the source has. Not in place it, like those
// below, calls copy_ for x first, which is counted there
std::optional<OperatorCost> index_copy(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *index = args.tensor(2), *source = args.tensor(3);
  if (x == nullptr || index == nullptr || source == nullptr) return std::nullopt;
  return OperatorCost{0, source->stored_bytes() + index->stored_bytes(), source->bytes(), x->dtype,
                      fmt::format("{} into {}", dims_text(source->dims), dims_text(x->dims))};
}

// index_put_(x, [indices], values, accumulate): adds the values to rows of x, as the gradient of x[indices]
// does. Which rows is not recorded, only that they are as many as the values; without accumulating, values
// may stand for more than they are.
std::optional<OperatorCost> index_put(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *values = args.tensor(2);
  if (x == nullptr || values == nullptr || values->dims.empty() || !args.flag(3).value_or(false))
    return std::nullopt;
  return OperatorCost{elements(values->dims), values->bytes() + values->stored_bytes(), values->bytes(),
                      x->dtype, fmt::format("{} added into {}", dims_text(values->dims), dims_text(x->dims))};
}

// index_add_(x, axis, index, source): adds as many slices as the source has to slices that are read and
// written
std::optional<OperatorCost> index_add(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *index = args.tensor(2), *source = args.tensor(3);
  if (x == nullptr || index == nullptr || source == nullptr) return std::nullopt;
  return OperatorCost{elements(source->dims),
                      source->bytes() + source->stored_bytes() + index->stored_bytes(), source->bytes(),
                      x->dtype, fmt::format("{} added into {}", dims_text(source->dims), dims_text(x->dims))};
}

// index_select(x, axis, index): as many slices as the index has elements
std::optional<OperatorCost> index_select(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *index = args.tensor(2);
  const auto axis = args.integers(1);
  if (x == nullptr || index == nullptr || !axis || axis->size() != 1 || x->dims.empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(x->dims.size());
  const int64_t at = (*axis)[0] < 0 ? (*axis)[0] + rank : (*axis)[0];
  if (at < 0 || at >= rank || x->dims[static_cast<std::size_t>(at)] <= 0) return std::nullopt;
  const double out =
      x->bytes() / static_cast<double>(x->dims[static_cast<std::size_t>(at)]) * elements(index->dims);
  return OperatorCost{0, out + index->stored_bytes(), out, x->dtype,
                      fmt::format("{} of {}", elements(index->dims), dims_text(x->dims))};
}

// gather(x, axis, index): an element of x for each of the index
std::optional<OperatorCost> gather(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *index = args.tensor(2);
  if (x == nullptr || index == nullptr) return std::nullopt;
  const double out = tensor_bytes(index->dims, x->dtype);
  return OperatorCost{0, out + index->stored_bytes(), out, x->dtype,
                      fmt::format("{} of {}", dims_text(index->dims), dims_text(x->dims))};
}

// scatter(x, axis, index, source): an element for each of the index; adding reads what it adds to
std::optional<OperatorCost> scatter(const Args& args, const Entry& entry) {
  const CallInput *x = args.tensor(0), *index = args.tensor(2);
  if (x == nullptr || index == nullptr) return std::nullopt;
  const double moved = tensor_bytes(index->dims, x->dtype);
  const double source = args.tensor(3) != nullptr ? std::min(moved, args.stored_bytes(3)) : 0;
  const double added = entry.flops > 0 ? moved : 0;
  return OperatorCost{entry.flops * elements(index->dims), index->stored_bytes() + source + added, moved,
                      x->dtype, fmt::format("{} into {}", dims_text(index->dims), dims_text(x->dims))};
}

// cat(tensors, axis): every element read and written once
std::optional<OperatorCost> cat(const Args& args, const Entry&) {
  const auto list = args.list(0);
  if (list.empty() || !std::all_of(list.begin(), list.end(),
                                   [](const CallInput& item) { return dtype_size(item.dtype) > 0; }))
    return std::nullopt;
  return OperatorCost{
      0, args.stored_bytes(0), args.bytes(0), list[0].dtype,
      fmt::format("{} tensors, the first {}", list.size(), describe(list[0].dims, list[0].dtype))};
}

// _chunk_cat(tensors, axis, chunks, out?): each tensor in so many chunks, padded to one size, and the first
// chunks of all, the second ones, … behind each other. Without `out` the padding is not counted.
std::optional<OperatorCost> chunk_cat(const Args& args, const Entry& entry) {
  auto cost = cat(args, entry);
  if (const CallInput* out = args.tensor(3); cost && out != nullptr) cost->written = out->bytes();
  return cost;
}

// Writes argument 0, reads nothing.
std::optional<OperatorCost> fill(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{0, 0, x->bytes(), x->dtype, describe(x->dims, x->dtype)};
}

// Reads x, writes as much.
std::optional<OperatorCost> rearrange(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{0, x->stored_bytes(), x->bytes(), x->dtype, describe(x->dims, x->dtype)};
}

// constant_pad_nd(x, pads, value): pads are pairs, the last axis first
std::optional<OperatorCost> pad(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  const auto pads = args.integers(1);
  if (x == nullptr || !pads || pads->size() > 2 * x->dims.size()) return std::nullopt;
  Shape out = x->dims;
  for (std::size_t i = 0; i + 1 < pads->size(); i += 2)
    out[out.size() - 1 - i / 2] += (*pads)[i] + (*pads)[i + 1];
  return OperatorCost{0, x->stored_bytes(), tensor_bytes(out, x->dtype), x->dtype,
                      fmt::format("{} → {}", dims_text(x->dims), dims_text(out))};
}

// slice_backward(gradient, sizes, …): zeros of the input's size, the gradient in its place
std::optional<OperatorCost> into_zeros(const Args& args, const Entry&) {
  const CallInput* gradient = args.tensor(0);
  const auto sizes = args.integers(1);
  if (gradient == nullptr || !sizes) return std::nullopt;
  return OperatorCost{0, gradient->stored_bytes(), tensor_bytes(*sizes, gradient->dtype), gradient->dtype,
                      fmt::format("{} into {}", dims_text(gradient->dims), dims_text(*sizes))};
}

// nonzero(mask): reads it; how many it finds is not recorded
std::optional<OperatorCost> search(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{elements(x->dims), x->stored_bytes(), 0, x->dtype, describe(x->dims, x->dtype)};
}

// sort(x), topk: n·log₂ n comparisons; values and indices of 8 bytes
std::optional<OperatorCost> sort(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const double n = elements(x->dims);
  return OperatorCost{n * std::log2(std::max(2.0, n)), x->stored_bytes(), x->bytes() + 8 * n, x->dtype,
                      describe(x->dims, x->dtype)};
}

// upsample_nearest2d(x[N,C,…], output size, …): `flops` an output element
std::optional<OperatorCost> upsample(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  const auto size = args.integers(1);
  if (x == nullptr || !size || size->size() + 2 != x->dims.size()) return std::nullopt;
  Shape out = {x->dims[0], x->dims[1]};
  out.insert(out.end(), size->begin(), size->end());
  return OperatorCost{entry.flops * elements(out), x->stored_bytes(), tensor_bytes(out, x->dtype), x->dtype,
                      fmt::format("{} → {}", dims_text(x->dims), dims_text(out))};
}

// grid_sampler_2d(x[N,C,H,W], grid[N,h,w,2], …), bilinear: an output element from four of x, of which it
// reads no more than there are; as upsample_bilinear2d 11 an output element
std::optional<OperatorCost> grid_sampler(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *grid = args.tensor(1);
  if (x == nullptr || grid == nullptr || x->dims.size() != 4 || grid->dims.size() != 4) return std::nullopt;
  const Shape out = {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]};
  const double written = tensor_bytes(out, x->dtype);
  return OperatorCost{11 * elements(out), std::min(x->stored_bytes(), 4 * written) + grid->stored_bytes(),
                      written, x->dtype, fmt::format("{} → {}", dims_text(x->dims), dims_text(out))};
}

// upsample_nearest2d_backward(gradient, output size, input size, …)
std::optional<OperatorCost> upsample_backward(const Args& args, const Entry& entry) {
  const CallInput* gradient = args.tensor(0);
  const auto size = args.integers(2);
  if (gradient == nullptr || !size) return std::nullopt;
  return OperatorCost{entry.flops * elements(gradient->dims), gradient->stored_bytes(),
                      tensor_bytes(*size, gradient->dtype), gradient->dtype,
                      fmt::format("gradient, {} → {}", dims_text(gradient->dims), dims_text(*size))};
}

// The device hands one element to the host.
std::optional<OperatorCost> one_element(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const auto size = static_cast<double>(dtype_size(x->dtype));
  return OperatorCost{0, size, size, x->dtype, "one element to the host"};
}

constexpr Entry kMovementTable[] = {
    {"embedding", kMovement, embedding},
    {"embedding_dense_backward", kMovement, embedding_backward},
    {"_embedding_bag", kMovement, embedding_bag},
    {"_embedding_bag_forward_only", kMovement, embedding_bag},
    {"_embedding_bag_dense_backward", kMovement, embedding_bag_backward},
    {"index_copy", kMovement, index_copy},
    {"index_put", kMovement, index_put},
    {"_index_put_impl", kMovement, index_put},
    {"index_add", kMovement, index_add},
    {"index_select", kMovement, index_select},
    {"gather", kMovement, gather},
    {"scatter", kMovement, scatter},
    {"scatter_add", kMovement, scatter, 1},
    {"scatter_reduce", kMovement, scatter, 1},
    {"cat", kMovement, cat},
    {"_chunk_cat", kMovement, chunk_cat},
    {"split_with_sizes_copy", kMovement, rearrange},
    {"constant_pad_nd", kMovement, pad},
    {"reflection_pad2d", kMovement, pad},
    {"replication_pad2d", kMovement, pad},
    {"slice_backward", kMovement, into_zeros},
    {"select_backward", kMovement, into_zeros},
    {"fill", kMovement, fill},
    {"zero", kMovement, fill},
    {"normal", kMovement, fill},
    {"uniform", kMovement, fill},
    {"bernoulli", kMovement, fill},
    {"exponential", kMovement, fill},
    {"random", kMovement, fill},
    {"randn", kMovement},
    {"arange", kMovement},
    {"flip", kMovement, rearrange},
    {"roll", kMovement, rearrange},
    {"repeat_interleave", kMovement},
    {"nonzero", kMovement, search},
    {"sort", kMovement, sort},
    {"topk", kMovement, sort},
    {"upsample_nearest1d", kMovement, upsample},
    {"upsample_nearest2d", kMovement, upsample},
    {"upsample_nearest3d", kMovement, upsample},
    {"upsample_bilinear2d", kMovement, upsample, 11},
    {"grid_sampler_2d", kMovement, grid_sampler},
    {"cudnn_grid_sampler", kMovement, grid_sampler},
    {"upsample_nearest2d_backward", kMovement, upsample_backward, 1},
    {"upsample_bilinear2d_backward", kMovement, upsample_backward, 8},
    {"_local_scalar_dense", kMovement, one_element},
    // what they select is not recorded
    {"index", kMovement},
    {"masked_select", kMovement},
    {"masked_scatter", kMovement},
    {"unique", kMovement},
    {"_unique2", kMovement},
    // call copy_, or the ones above
    {"clone", kMovement},
    {"contiguous", kLayout},
    {"stack", kMovement},
    {"repeat", kMovement},
    {"item", kMovement},
    {"zeros", kMovement},
    {"ones", kMovement},
    {"full", kMovement},
    {"embedding_backward", kMovement},
};

}  // namespace

std::span<const Entry> movement_operators() { return kMovementTable; }

}  // namespace hone::trace::aten
