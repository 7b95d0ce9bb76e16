// Reading and writing .npy files; the header's own syntax is npy_header.h.
#include "core/npy/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/npy/npy_header.h"

namespace hone {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are mapped as they lie in the file");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderAlignment = 64;  // NumPy pads the header so that the elements start on it

// NumPy's kind letter and item size for each type; the first row of a pair is what reading gives.
struct TypeCode {
  std::string_view code;
  DType dtype;
};
constexpr std::array kTypes = {
    TypeCode{"f2", DType::kF16},        TypeCode{"f4", DType::kF32},        TypeCode{"f8", DType::kF64},
    TypeCode{"i1", DType::kI8},         TypeCode{"i2", DType::kI16},        TypeCode{"i4", DType::kI32},
    TypeCode{"i8", DType::kI64},        TypeCode{"u1", DType::kU8},         TypeCode{"u2", DType::kU16},
    TypeCode{"u4", DType::kU32},        TypeCode{"u8", DType::kU64},        TypeCode{"b1", DType::kBool},
    TypeCode{"c8", DType::kC64},        TypeCode{"c16", DType::kC128},      TypeCode{"u2", DType::kBF16},
    TypeCode{"u1", DType::kF8E4M3FN},   TypeCode{"u1", DType::kF8E4M3FNUZ}, TypeCode{"u1", DType::kF8E5M2},
    TypeCode{"u1", DType::kF8E5M2FNUZ}, TypeCode{"u1", DType::kF8E8M0},     TypeCode{"u1", DType::kF4E2M1},
    TypeCode{"i1", DType::kI4},         TypeCode{"u1", DType::kU4},         TypeCode{"i1", DType::kI2},
    TypeCode{"u1", DType::kU2},
};

struct ElementType {
  DType dtype = DType::kUndefined;
  bool big_endian = false;
};

Result<ElementType> parse_type(std::string_view descr) {
  const std::string_view orders = "<>|=";
  if (descr.empty() || orders.find(descr.front()) == std::string_view::npos)
    return corrupt(fmt::format("malformed .npy header: '{}' is not a type string", descr));
  const std::string_view code = descr.substr(1);
  if (code.starts_with('O'))
    return unsupported("the .npy file holds pickled Python objects; convert the array to a numeric dtype");
  const auto* row =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeCode& type) { return type.code == code; });
  if (row == kTypes.end())
    return unsupported(
        fmt::format("the .npy file's dtype '{}' is not supported; convert the array to a "
                    "numeric dtype such as float32",
                    descr));
  return ElementType{row->dtype, descr.front() == '>'};
}

// What stands before the elements.
struct Preamble {
  NpyHeader header;
  std::size_t data_offset = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Result<Preamble> parse_preamble(std::string_view file) {
  if (!file.starts_with(kMagic)) {
    if (file.starts_with("PK")) return unsupported("this is a .npz archive; save one array as .npy");
    return corrupt(file.empty() ? "the file is empty, not a .npy file"
                                : "this is not a .npy file (no magic)");
  }
  if (file.size() < kMagic.size() + 2) return corrupt("truncated .npy file: it ends in the version");
  const int major = static_cast<unsigned char>(file[kMagic.size()]);
  const int minor = static_cast<unsigned char>(file[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    return unsupported(
        fmt::format(".npy format version {}.{} is not supported (1.0 to 3.0 are)", major, minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::string_view rest = file.substr(kMagic.size() + 2);
  if (rest.size() < length_bytes) return corrupt("truncated .npy file: it ends in the header's length");
  const std::size_t length = little_endian(rest.substr(0, length_bytes));
  if (rest.size() - length_bytes < length)
    return corrupt(fmt::format("truncated .npy file: the header should take {} bytes, {} are there", length,
                               rest.size() - length_bytes));
  HONE_ASSIGN(NpyHeader header, parse_npy_header(rest.substr(length_bytes, length)));
  return Preamble{std::move(header), kMagic.size() + 2 + length_bytes + length};
}

// Reverses each number in place; the two parts of a complex number are numbers of their own.
void swap_bytes(Tensor& tensor) {
  std::size_t width = dtype_size(tensor.dtype());
  if (is_complex(tensor.dtype())) width /= 2;
  auto* bytes = static_cast<std::byte*>(tensor.data());
  for (std::size_t i = 0; i < tensor.bytes(); i += width) std::reverse(bytes + i, bytes + i + width);
}

// Copies elements that lie with the first axis fastest into row-major order.
Tensor from_fortran_order(const Tensor& source) {
  Tensor result(source.dtype(), source.shape());
  const std::size_t width = dtype_size(source.dtype());
  const auto* from = static_cast<const std::byte*>(source.data());
  auto* to = static_cast<std::byte*>(result.data());
  const Shape& shape = source.shape();
  Shape strides(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) strides[axis] = strides[axis - 1] * shape[axis - 1];
  Shape index(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < source.size(); ++i) {
    std::memcpy(to, from + static_cast<std::size_t>(offset) * width, width);
    to += width;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

// Kernels rely on booleans being 0 or 1; a file may hold anything.
Tensor with_clean_booleans(Tensor tensor) {
  const auto dirty = [](uint8_t value) { return value > 1; };
  if (std::none_of(tensor.as<uint8_t>().begin(), tensor.as<uint8_t>().end(), dirty)) return tensor;
  tensor = tensor.clone();
  for (uint8_t& value : tensor.as<uint8_t>()) value = value != 0 ? 1 : 0;
  return tensor;
}

// The array in `file`, whose memory `owner` keeps alive.
Result<Tensor> parse_mapped(std::string_view file, std::shared_ptr<const void> owner) {
  HONE_ASSIGN(const Preamble preamble, parse_preamble(file));
  HONE_ASSIGN(const ElementType type, parse_type(preamble.header.descr));
  const Shape& shape = preamble.header.shape;
  HONE_ASSIGN(const int64_t count, checked_element_count(shape));
  const std::string_view data = file.substr(preamble.data_offset);
  const std::size_t width = dtype_size(type.dtype);
  if (data.size() % width != 0 || data.size() / width != static_cast<std::size_t>(count))
    return corrupt(
        fmt::format("the .npy file should hold {} elements of {} bytes (shape {}), but has {} bytes "
                    "of data",
                    count, width, shape_text(shape), data.size()));
  Tensor tensor = Tensor::borrowed(type.dtype, shape, data.data(), std::move(owner)).aligned();
  if (type.big_endian) {
    tensor = tensor.clone();
    swap_bytes(tensor);
  }
  if (preamble.header.fortran_order && shape.size() > 1) tensor = from_fortran_order(tensor);
  if (type.dtype == DType::kBool) tensor = with_clean_booleans(std::move(tensor));
  return tensor;
}

}  // namespace

Result<Tensor> read_npy(const std::filesystem::path& path) {
  HONE_ASSIGN(const auto file, MappedFile::open(path));
  auto tensor = parse_mapped(file->text(), file);
  if (!tensor.ok()) return tensor.error().within(path.string());
  return tensor;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  HONE_ASSIGN(const Tensor tensor, parse_mapped(text, nullptr));
  return tensor.clone();
}

Result<std::string> npy_header(const Tensor& tensor) {
  const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeCode& type) { return type.dtype == tensor.dtype(); });
  if (row == kTypes.end())
    return unsupported(
        fmt::format("tensors of dtype {} cannot be written as .npy", dtype_name(tensor.dtype())));
  const char order = dtype_size(tensor.dtype()) == 1 ? '|' : '<';
  const std::string_view comma = tensor.rank() == 1 ? "," : "";
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                                 row->code, fmt::join(tensor.shape(), ", "), comma);
  constexpr std::size_t kBefore = 10;  // magic, version 1.0, length
  const std::size_t total =
      (kBefore + dict.size() + 1 + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment;
  dict.resize(total - kBefore - 1, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

Status write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  auto header = npy_header(tensor);
  if (!header.ok()) return header.error().within(path.string());
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HONE_CHECK(file.write(*header));
  HONE_CHECK(file.write({static_cast<const std::byte*>(tensor.data()), tensor.bytes()}));
  return file.commit();
}

}  // namespace hone
