#include "data/zarr/metadata.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace hone::data {
namespace {

using nlohmann::json;

constexpr std::size_t kMostAxes = 16;

Error malformed_zarr(const std::string& what) { return corrupt("malformed Zarr metadata: " + what); }

Result<json> parse_json(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return malformed_zarr("it is not JSON");
  if (!value.is_object()) return malformed_zarr("it is not a JSON object");
  return value;
}

// The member of an object, null where there is none.
const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string string_member(const json& object, const char* name, const std::string& otherwise = {}) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

Result<Shape> extents(const json& object, const char* name, int64_t least) {
  const json& list = member(object, name);
  if (!list.is_array()) return malformed_zarr(fmt::format("'{}' is not a list", name));
  if (list.size() > kMostAxes)
    return malformed_zarr(fmt::format("'{}' has more than {} axes", name, kMostAxes));
  Shape shape;
  for (const json& extent : list) {
    if (!extent.is_number_integer() || extent.get<int64_t>() < least ||
        extent.get<int64_t>() > int64_t{1} << 48)
      return malformed_zarr(fmt::format("'{}' holds something other than sizes", name));
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
}

struct ZarrType {
  std::string_view v2, v3;
  DType dtype;
};
constexpr std::array kZarrTypes = {
    ZarrType{"b1", "bool", DType::kBool},   ZarrType{"u1", "uint8", DType::kU8},
    ZarrType{"u2", "uint16", DType::kU16},  ZarrType{"u4", "uint32", DType::kU32},
    ZarrType{"u8", "uint64", DType::kU64},  ZarrType{"i1", "int8", DType::kI8},
    ZarrType{"i2", "int16", DType::kI16},   ZarrType{"i4", "int32", DType::kI32},
    ZarrType{"i8", "int64", DType::kI64},   ZarrType{"f2", "float16", DType::kF16},
    ZarrType{"f4", "float32", DType::kF32}, ZarrType{"f8", "float64", DType::kF64},
};

Error unknown_type(const std::string& name) {
  return unsupported(
      fmt::format("the Zarr array's data type '{}' is not supported; convert it to integers or floats of "
                  "up to 64 bits",
                  name));
}

template <typename T>
void put(std::array<std::byte, 16>& bytes, T value) {
  std::memcpy(bytes.data(), &value, sizeof value);
}

void put_float(std::array<std::byte, 16>& bytes, DType dtype, double value) {
  if (dtype == DType::kF16) return put(bytes, f32_to_f16(static_cast<float>(value)));
  if (dtype == DType::kF32) return put(bytes, static_cast<float>(value));
  put(bytes, value);
}

// A number, "NaN", "Infinity", "-Infinity", "0x…" with an element's bits, true or false; null: 0.
Result<std::array<std::byte, 16>> parse_fill(const json& value, DType dtype) {
  std::array<std::byte, 16> fill = {};
  const Error wrong = malformed_zarr(fmt::format("its fill value is no {}", dtype_name(dtype)));
  if (value.is_null()) return fill;
  if (value.is_boolean()) {
    if (dtype != DType::kBool) return wrong;
    put(fill, static_cast<uint8_t>(value.get<bool>()));
    return fill;
  }
  if (value.is_string() && is_float(dtype)) {
    const auto text = value.get<std::string>();
    if (text.starts_with("0x") && text.size() > 2 && text.size() <= 18) {
      uint64_t bits = 0;
      for (const char c : text.substr(2)) {
        const bool digit = c >= '0' && c <= '9', letter = (c | 32) >= 'a' && (c | 32) <= 'f';
        if (!digit && !letter) return wrong;
        bits = bits << 4 | static_cast<uint64_t>(digit ? c - '0' : (c | 32) - 'a' + 10);
      }
      std::memcpy(fill.data(), &bits, dtype_size(dtype));
      return fill;
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "NaN")
      put_float(fill, dtype, std::numeric_limits<double>::quiet_NaN());
    else if (text == "Infinity" || text == "-Infinity")
      put_float(fill, dtype, text[0] == '-' ? -kInfinity : kInfinity);
    else
      return wrong;
    return fill;
  }
  if (!value.is_number()) return wrong;
  if (is_float(dtype)) {
    put_float(fill, dtype, value.get<double>());
    return fill;
  }
  if (value.is_number_float() && value.get<double>() != std::floor(value.get<double>())) return wrong;
  const bool fits = value.is_number_float() ? std::abs(value.get<double>()) < 0x1p53 : true;
  if (!fits) return wrong;
  const uint64_t bits =
      value.is_number_unsigned() ? value.get<uint64_t>() : static_cast<uint64_t>(value.get<int64_t>());
  std::memcpy(fill.data(), &bits, dtype_size(dtype));  // little-endian, as all that hone runs on
  return fill;
}

// What every array must satisfy, whatever its version.
Status check_array(const ZarrMetadata& array, const Shape& chunk) {
  if (chunk.size() != array.shape.size())
    return malformed_zarr(
        fmt::format("chunks of {} axes in an array of {}", chunk.size(), array.shape.size()));
  HONE_CHECK(checked_element_count(array.shape));
  HONE_ASSIGN(const int64_t count, checked_element_count(chunk));
  if (count > kMostChunkBytes / static_cast<int64_t>(dtype_size(array.dtype)))
    return unsupported(fmt::format("chunks of {} elements are over the limit of {} bytes; make them smaller",
                                   shape_text(chunk), kMostChunkBytes));
  return {};
}

Result<std::vector<int64_t>> parse_order(const json& list, std::size_t rank) {
  const Error wrong = malformed_zarr("'transpose' has no order of all axes");
  if (list == "C") return std::vector<int64_t>{};
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (list == "F") {
    std::reverse(order.begin(), order.end());
    return order;
  }
  if (!list.is_array() || list.size() != rank) return wrong;
  std::vector<int64_t> given;
  for (const json& axis : list) {
    if (!axis.is_number_integer()) return wrong;
    given.push_back(axis.get<int64_t>());
  }
  if (!std::is_permutation(given.begin(), given.end(), order.begin())) return wrong;
  return given;
}

// The codecs of version 3 without sharding: transpositions, "bytes", then what compresses.
Result<ZarrEncoding> parse_encoding(const json& codecs, std::size_t rank) {
  if (!codecs.is_array()) return malformed_zarr("'codecs' is not a list");
  ZarrEncoding encoding;
  bool is_bytes = false;
  for (const json& codec : codecs) {
    const std::string name = codec.is_string() ? codec.get<std::string>() : string_member(codec, "name");
    const json& configuration = member(codec, "configuration");
    if (name == "transpose") {
      if (is_bytes || !encoding.axis_order.empty()) return malformed_zarr("'transpose' where bytes are");
      HONE_ASSIGN(encoding.axis_order, parse_order(member(configuration, "order"), rank));
      continue;
    }
    if (name == "bytes") {
      encoding.big_endian = string_member(configuration, "endian") == "big";
      is_bytes = true;
      continue;
    }
    if (name == "gzip" || name == "zlib" || name == "numcodecs.zlib")
      encoding.codecs.push_back(ZarrCodec::kGzip);
    else if (name == "zstd")
      encoding.codecs.push_back(ZarrCodec::kZstd);
    else if (name == "blosc")
      encoding.codecs.push_back(ZarrCodec::kBlosc);
    else if (name == "crc32c")
      encoding.codecs.push_back(ZarrCodec::kCrc32c);
    else
      return unsupported(
          fmt::format("the Zarr codec '{}' is not supported; store the array with blosc, zstd or gzip, or "
                      "uncompressed",
                      name));
    if (!is_bytes) return malformed_zarr(fmt::format("the codec '{}' stands before 'bytes'", name));
  }
  if (!is_bytes) return malformed_zarr("'codecs' has no 'bytes'");
  if (encoding.codecs.size() > 4) return malformed_zarr("'codecs' has more than four that compress");
  return encoding;
}

Result<ZarrSharding> parse_sharding(const json& configuration, const ZarrMetadata& array) {
  ZarrSharding sharding;
  HONE_ASSIGN(sharding.chunk, extents(configuration, "chunk_shape", 1));
  if (sharding.chunk.size() != array.chunk.size())
    return malformed_zarr("a shard's chunks have other axes than it");
  for (std::size_t i = 0; i < sharding.chunk.size(); ++i)
    if (array.chunk[i] % sharding.chunk[i] != 0) return malformed_zarr("chunks do not divide their shard");
  HONE_ASSIGN(sharding.encoding, parse_encoding(member(configuration, "codecs"), array.shape.size()));
  HONE_ASSIGN(const ZarrEncoding index,
              parse_encoding(member(configuration, "index_codecs"), array.shape.size() + 1));
  if (index.big_endian || !index.axis_order.empty() || index.codecs.size() > 1 ||
      (index.codecs.size() == 1 && index.codecs[0] != ZarrCodec::kCrc32c))
    return unsupported("a shard's index with other codecs than bytes and crc32c");
  sharding.index_checksum = !index.codecs.empty();
  sharding.index_at_end = string_member(configuration, "index_location", "end") != "start";
  return sharding;
}

}  // namespace

Result<ZarrMetadata> parse_zarr_v2(std::string_view text) {
  HONE_ASSIGN(const json value, parse_json(text));
  if (member(value, "zarr_format") != 2) return malformed_zarr("'zarr_format' is not 2");
  ZarrMetadata array;
  HONE_ASSIGN(array.shape, extents(value, "shape", 0));
  HONE_ASSIGN(array.chunk, extents(value, "chunks", 1));
  const std::string dtype = string_member(value, "dtype");
  const auto* type = std::find_if(kZarrTypes.begin(), kZarrTypes.end(), [&](const ZarrType& row) {
    return dtype.size() == 3 && std::string_view("<>|=").find(dtype[0]) != std::string_view::npos &&
           row.v2 == dtype.substr(1);
  });
  if (type == kZarrTypes.end())
    return member(value, "dtype").is_string() ? unknown_type(dtype)
                                              : unsupported("Zarr arrays of records are not supported");
  array.dtype = type->dtype;
  array.encoding.big_endian = dtype[0] == '>';
  HONE_CHECK(check_array(array, array.chunk));
  HONE_ASSIGN(array.fill, parse_fill(member(value, "fill_value"), array.dtype));
  HONE_ASSIGN(array.encoding.axis_order,
              parse_order(json(string_member(value, "order", "C")), array.shape.size()));
  const std::string separator = string_member(value, "dimension_separator", ".");
  if (separator != "." && separator != "/") return malformed_zarr("'dimension_separator' is neither . nor /");
  array.separator = separator[0];
  const json& filters = member(value, "filters");
  if (filters.is_array() && !filters.empty())
    return unsupported(fmt::format("the Zarr filter '{}' is not supported; store the array without filters",
                                   string_member(filters[0], "id")));
  const json& compressor = member(value, "compressor");
  if (compressor.is_null()) return array;
  const std::string id = string_member(compressor, "id");
  if (id == "zlib" || id == "gzip")
    array.encoding.codecs = {ZarrCodec::kGzip};
  else if (id == "zstd")
    array.encoding.codecs = {ZarrCodec::kZstd};
  else if (id == "blosc")
    array.encoding.codecs = {ZarrCodec::kBlosc};
  else
    return unsupported(
        fmt::format("the Zarr compressor '{}' is not supported; store the array with blosc, zstd or gzip, "
                    "or uncompressed",
                    id));
  return array;
}

Result<ZarrMetadata> parse_zarr_v3(std::string_view text) {
  HONE_ASSIGN(const json value, parse_json(text));
  if (member(value, "zarr_format") != 3) return malformed_zarr("'zarr_format' is not 3");
  if (member(value, "node_type") != "array") return malformed_zarr("it is a group, not an array");
  ZarrMetadata array;
  HONE_ASSIGN(array.shape, extents(value, "shape", 0));
  const json& grid = member(value, "chunk_grid");
  if (string_member(grid, "name") != "regular")
    return unsupported(fmt::format("the Zarr chunk grid '{}' is not supported; use a regular one",
                                   string_member(grid, "name")));
  HONE_ASSIGN(array.chunk, extents(member(grid, "configuration"), "chunk_shape", 1));
  const std::string dtype = string_member(value, "data_type");
  const auto* type = std::find_if(kZarrTypes.begin(), kZarrTypes.end(),
                                  [&](const ZarrType& row) { return row.v3 == dtype; });
  if (type == kZarrTypes.end()) return unknown_type(dtype);
  array.dtype = type->dtype;
  HONE_ASSIGN(array.fill, parse_fill(member(value, "fill_value"), array.dtype));
  const json& keys = member(value, "chunk_key_encoding");
  const bool like_v2 = string_member(keys, "name") == "v2";
  array.prefix = like_v2 ? "" : "c";
  const std::string separator =
      string_member(member(keys, "configuration"), "separator", like_v2 ? "." : "/");
  if (separator != "." && separator != "/")
    return malformed_zarr("the separator of chunk keys is neither . nor /");
  array.separator = separator[0];
  const json& transformers = member(value, "storage_transformers");
  if (transformers.is_array() && !transformers.empty())
    return unsupported("Zarr storage transformers are not supported");
  const json& codecs = member(value, "codecs");
  if (codecs.is_array() && !codecs.empty() && string_member(codecs[0], "name") == "sharding_indexed") {
    if (codecs.size() > 1) return unsupported("shards that are compressed as a whole are not supported");
    if (array.chunk.size() != array.shape.size())
      return malformed_zarr("shards have other axes than the array");
    HONE_ASSIGN(array.sharding, parse_sharding(member(codecs[0], "configuration"), array));
    HONE_CHECK(check_array(array, array.sharding->chunk));
    HONE_CHECK(checked_element_count(array.chunk));
    return array;
  }
  HONE_CHECK(check_array(array, array.chunk));
  HONE_ASSIGN(array.encoding, parse_encoding(codecs, array.shape.size()));
  return array;
}

Result<ZarrGroup> parse_zarr_group(std::string_view text) {
  HONE_ASSIGN(const json value, parse_json(text));
  // .zattrs of version 2; "attributes" of version 3, where OME-Zarr 0.5 has a room of its own.
  const json* attributes = &value;
  if (value.contains("attributes")) attributes = &member(value, "attributes");
  if (attributes->contains("ome")) attributes = &member(*attributes, "ome");
  const json& scales = member(*attributes, "multiscales");
  if (!scales.is_array() || scales.empty())
    return unsupported(
        "it is a Zarr group, not an array, and names no image (OME-Zarr's multiscales); give the path of "
        "the array in it");
  const json& datasets = member(scales[0], "datasets");
  ZarrGroup group;
  if (datasets.is_array() && !datasets.empty()) group.path = string_member(datasets[0], "path");
  if (group.path.empty() || group.path.find("..") != std::string::npos || group.path[0] == '/')
    return malformed_zarr("multiscales name no array within the group");
  const json& axes = member(scales[0], "axes");
  for (const json& axis : axes.is_array() ? axes : json::array()) {
    const std::string name = axis.is_string() ? axis.get<std::string>() : string_member(axis, "name");
    if (name.size() != 1)
      return unsupported(fmt::format("the OME-Zarr axis '{}' is none of t, c, z, y and x", name));
    group.axes += name;
  }
  return group;
}

std::string zarr_chunk_name(const ZarrMetadata& array, const std::vector<int64_t>& chunk) {
  std::string name = array.prefix;
  for (const int64_t index : chunk) {
    if (!name.empty()) name += array.separator;
    name += std::to_string(index);
  }
  if (name.empty()) name = "0";  // version 2: an array without axes
  return name;
}

}  // namespace hone::data
