#include "model/onnx/tensor_proto.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/onnx_dtype.h"
#include "model/onnx/wire.h"

namespace hone::model::onnx {
namespace {

std::size_t alignment_of(DType dtype) {
  return is_complex(dtype) ? dtype_size(dtype) / 2 : std::max<std::size_t>(dtype_size(dtype), 1);
}

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment_of(dtype) == 0;
}

// Bytes of `count` elements as files pack them; nullopt for more than any file holds.
std::optional<std::size_t> packed_bytes(DType dtype, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 50;
  if (count > kMost) return std::nullopt;
  return (static_cast<std::size_t>(count) * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8;
}

// Elements of 4 or 2 bits, first element in the lowest bits, to one element a byte; signed ones
// sign-extended.
void unpack(DType dtype, std::string_view packed, std::span<uint8_t> elements) {
  const int bits = dtype_bits(dtype);
  const int per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  const bool extend = is_integer(dtype) && is_signed(dtype);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto byte = static_cast<uint8_t>(packed[i / per_byte]);
    auto value = static_cast<uint8_t>((byte >> (bits * static_cast<int>(i % per_byte))) & mask);
    if (extend && (value >> (bits - 1)) != 0) value = static_cast<uint8_t>(value | ~mask);
    elements[i] = value;
  }
}

struct Bytes {
  std::string_view data;
  std::shared_ptr<const void> owner;
};

Result<Tensor> from_bytes(DType dtype, Shape shape, int64_t count, const Bytes& bytes) {
  const auto expected = packed_bytes(dtype, count);
  if (!expected || *expected != bytes.data.size())
    return corrupt("its shape " + shape_text(shape) + " of " + std::string(dtype_name(dtype)) +
                   " does not fit the " + std::to_string(bytes.data.size()) + " bytes of data in the file");
  if (dtype_bits(dtype) < 8) {
    Tensor tensor(dtype, std::move(shape));
    unpack(dtype, bytes.data, {static_cast<uint8_t*>(tensor.data()), static_cast<std::size_t>(count)});
    return tensor;
  }
  const bool odd_bools = dtype == DType::kBool && std::any_of(bytes.data.begin(), bytes.data.end(),
                                                              [](char c) { return c != 0 && c != 1; });
  if (bytes.owner && !odd_bools && is_aligned(bytes.data.data(), dtype) && count > 0)
    return Tensor::borrowed(dtype, std::move(shape), bytes.data.data(), bytes.owner);
  Tensor tensor(dtype, std::move(shape));
  if (!bytes.data.empty()) std::memcpy(tensor.data(), bytes.data.data(), bytes.data.size());
  if (odd_bools)
    for (uint8_t& value : std::span(static_cast<uint8_t*>(tensor.data()), static_cast<std::size_t>(count)))
      value = value != 0;
  return tensor;
}

Result<std::size_t> parse_size(std::string_view key, std::string_view text) {
  std::size_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return corrupt("external data: " + std::string(key) + " " + in_quotes(text) + " is not a number");
  return value;
}

Result<Bytes> external_bytes(const TensorProto& proto, const TensorSource& source, DType dtype,
                             int64_t count) {
  std::string_view location;
  std::size_t offset = 0;
  std::optional<std::size_t> length;
  for (const auto& [key, value] : proto.external_data) {
    if (key == "location") location = value;
    if (key == "offset") {
      HONE_ASSIGN(offset, parse_size(key, value));
    }
    if (key == "length") {
      HONE_ASSIGN(length, parse_size(key, value));
    }
  }
  if (source.external == nullptr) return invalid("its data is in another file, which is not allowed here");
  HONE_ASSIGN(auto file, source.external->open(location));
  const std::string_view text = file->text();
  if (!length) length = packed_bytes(dtype, count);
  if (!length || offset > text.size() || *length > text.size() - offset)
    return corrupt("external data " + in_quotes(location) + " ends before the tensor's data (offset " +
                   std::to_string(offset) + ", file of " + std::to_string(text.size()) +
                   " bytes); the file is cut off or belongs to another model");
  return Bytes{text.substr(offset, *length), std::move(file)};
}

// The elements of a typed data field, as the message has them.
struct TypedData {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> int32s;
  std::vector<int64_t> int64s;
  std::vector<uint64_t> uint64s;
  std::vector<std::string_view> strings;
};

TypedData decode_typed(std::string_view message_bytes) {
  TypedData data;
  Message message(message_bytes);
  while (message.next()) {
    switch (message.field()) {
      case 4:
        message.append_floats(data.floats);
        break;
      case 5:
        message.append_integers(data.int32s);
        break;
      case 6:
        data.strings.push_back(message.bytes());
        break;
      case 7:
        message.append_integers(data.int64s);
        break;
      case 10:
        message.append_doubles(data.doubles);
        break;
      case 11:
        message.append_integers(data.uint64s);
        break;
      default:
        message.skip();
    }
  }
  return data;
}

template <typename To, typename From>
Result<Tensor> convert(DType dtype, Shape shape, std::size_t expected, const std::vector<From>& values) {
  if (values.size() != expected)
    return corrupt("its shape " + shape_text(shape) + " of " + std::string(dtype_name(dtype)) +
                   " does not fit the " + std::to_string(values.size()) + " values in the file");
  Tensor tensor(dtype, std::move(shape));
  std::transform(values.begin(), values.end(), static_cast<To*>(tensor.data()), [](From value) {
    if constexpr (std::is_same_v<To, bool>) return value != 0;
    return static_cast<To>(value);
  });
  return tensor;
}

Result<Tensor> from_strings(Shape shape, std::size_t count, const std::vector<std::string_view>& values) {
  if (values.size() != count)
    return corrupt("its shape " + shape_text(shape) + " does not fit the " + std::to_string(values.size()) +
                   " strings in the file");
  Tensor tensor(DType::kString, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.strings().begin());
  return tensor;
}

Result<Tensor> from_typed(DType dtype, Shape shape, int64_t count, const TypedData& data) {
  const auto n = static_cast<std::size_t>(count);
  switch (dtype) {
    case DType::kF32:
      return convert<float>(dtype, std::move(shape), n, data.floats);
    case DType::kC64:
      return convert<float>(dtype, std::move(shape), 2 * n, data.floats);
    case DType::kF64:
      return convert<double>(dtype, std::move(shape), n, data.doubles);
    case DType::kC128:
      return convert<double>(dtype, std::move(shape), 2 * n, data.doubles);
    case DType::kI64:
      return convert<int64_t>(dtype, std::move(shape), n, data.int64s);
    case DType::kU64:
      return convert<uint64_t>(dtype, std::move(shape), n, data.uint64s);
    case DType::kU32:
      return convert<uint32_t>(dtype, std::move(shape), n, data.uint64s);
    case DType::kI32:
      return convert<int32_t>(dtype, std::move(shape), n, data.int32s);
    case DType::kString:
      return from_strings(std::move(shape), n, data.strings);
    case DType::kBool:
      return convert<bool>(dtype, std::move(shape), n, data.int32s);
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return convert<uint16_t>(dtype, std::move(shape), n, data.int32s);
    default:
      break;
  }
  if (dtype_bits(dtype) == 8) return convert<uint8_t>(dtype, std::move(shape), n, data.int32s);
  std::string packed(data.int32s.size(), '\0');  // each value holds one byte of packed elements
  std::transform(data.int32s.begin(), data.int32s.end(), packed.begin(),
                 [](int32_t value) { return static_cast<char>(value); });
  return from_bytes(dtype, std::move(shape), count, {packed, nullptr});
}

Result<Tensor> make_unnamed(const TensorProto& proto, const TensorSource& source) {
  const DType dtype = dtype_from_onnx(proto.data_type).value_or(DType::kUndefined);
  if (dtype == DType::kUndefined)
    return corrupt("element type " + std::to_string(proto.data_type) + " does not exist");
  if (proto.segmented) return unsupported("tensors stored in segments are not supported");
  HONE_ASSIGN(const int64_t count, checked_element_count(proto.dims));
  if (proto.external) {
    if (dtype == DType::kString) return corrupt("strings cannot be external data");
    HONE_ASSIGN(const Bytes bytes, external_bytes(proto, source, dtype, count));
    return from_bytes(dtype, proto.dims, count, bytes);
  }
  if (proto.raw_data && dtype != DType::kString && (count == 0 || !proto.raw_data->empty()))
    return from_bytes(dtype, proto.dims, count, {*proto.raw_data, source.owner});
  // Every typed element takes at least a bit of the message: refuse before anything is allocated.
  if (static_cast<std::size_t>(count) > proto.message.size() * 4)
    return corrupt("its shape " + shape_text(proto.dims) + " has more elements than the file has data for");
  try {
    return from_typed(dtype, proto.dims, count, decode_typed(proto.message));
  } catch (const WireError& error) {
    return corrupt(error.what());
  } catch (const protozero::exception& error) {
    return corrupt(std::string("its data is broken or cut off (") + error.what() + ")");
  }
}

constexpr std::size_t kLargestDense = std::size_t{256} << 20;

// Where element `i` of a COO tensor goes: indices are linear [NNZ], or coordinates [NNZ, rank].
Result<int64_t> dense_index(const Tensor& indices, int64_t i, const Shape& shape, int64_t count) {
  int64_t linear = 0;
  if (indices.rank() == 1) {
    linear = indices.int_at(i);
  } else {
    const auto rank = static_cast<int64_t>(shape.size());
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t at = indices.int_at(i * rank + axis);
      if (at < 0 || at >= shape[static_cast<std::size_t>(axis)])
        return corrupt("an index lies outside its shape");
      linear = linear * shape[static_cast<std::size_t>(axis)] + at;
    }
  }
  if (linear < 0 || linear >= count) return corrupt("an index lies outside its shape");
  return linear;
}

Result<Tensor> make_dense_unnamed(const SparseTensorProto& proto, const TensorSource& source) {
  HONE_ASSIGN(const Tensor values, make_tensor(proto.values, source));
  HONE_ASSIGN(const Tensor indices, make_tensor(proto.indices, source));
  HONE_ASSIGN(const int64_t count, checked_element_count(proto.dims));
  const std::size_t size = dtype_size(values.dtype());
  if (size == 0) return unsupported("a sparse tensor of strings is not supported");
  if (static_cast<std::size_t>(count) > kLargestDense / size)
    return unsupported("its dense form of shape " + shape_text(proto.dims) + " is too large");
  const bool linear = indices.rank() == 1;
  const bool coordinates =
      indices.rank() == 2 && indices.shape()[1] == static_cast<int64_t>(proto.dims.size());
  if (values.rank() != 1 || indices.dtype() != DType::kI64 || !(linear || coordinates) ||
      indices.shape()[0] != values.size())
    return corrupt("values " + shape_text(values.shape()) + " and indices " + shape_text(indices.shape()) +
                   " do not describe one sparse tensor");
  Tensor dense = Tensor::zeros(values.dtype(), proto.dims);
  for (int64_t i = 0; i < values.size(); ++i) {
    HONE_ASSIGN(const int64_t at, dense_index(indices, i, proto.dims, count));
    std::memcpy(static_cast<std::byte*>(dense.data()) + static_cast<std::size_t>(at) * size,
                static_cast<const std::byte*>(values.data()) + static_cast<std::size_t>(i) * size, size);
  }
  return dense;
}

}  // namespace

Result<Tensor> make_tensor(const TensorProto& proto, const TensorSource& source) {
  auto tensor = make_unnamed(proto, source);
  if (!tensor.ok()) return tensor.error().within("tensor " + in_quotes(proto.name));
  return tensor;
}

Result<Tensor> make_dense(const SparseTensorProto& proto, const TensorSource& source) {
  auto tensor = make_dense_unnamed(proto, source);
  if (!tensor.ok()) return tensor.error().within("sparse tensor " + in_quotes(proto.values.name));
  return tensor;
}

}  // namespace hone::model::onnx
