#include "model/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hone::model {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kAlignment = 8;             // of the elements, by spaces behind the header

struct FormatType {
  DType dtype;
  std::string_view name;
};
constexpr std::array<FormatType, 14> kTypes = {{{DType::kF32, "F32"},
                                                {DType::kF16, "F16"},
                                                {DType::kBF16, "BF16"},
                                                {DType::kF64, "F64"},
                                                {DType::kI64, "I64"},
                                                {DType::kI32, "I32"},
                                                {DType::kI16, "I16"},
                                                {DType::kI8, "I8"},
                                                {DType::kU64, "U64"},
                                                {DType::kU32, "U32"},
                                                {DType::kU16, "U16"},
                                                {DType::kU8, "U8"},
                                                {DType::kBool, "BOOL"},
                                                {DType::kF8E4M3FN, "F8_E4M3"}}};

struct TensorEntry {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::size_t begin = 0, end = 0;
};

std::optional<int64_t> natural(const Json& json) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > (uint64_t{1} << 62)) return std::nullopt;
  return static_cast<int64_t>(json.get<uint64_t>());
}

Result<TensorEntry> entry_of(const std::string& name, const Json& json, std::size_t size) {
  const auto wrong = [&](const std::string& what) {
    return corrupt(fmt::format("tensor '{}': {}", name, what));
  };
  TensorEntry entry;
  entry.name = name;
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || !json["dtype"].is_string() || !json["shape"].is_array() ||
      !json["data_offsets"].is_array() || json["data_offsets"].size() != 2)
    return wrong("needs dtype, shape and data_offsets");
  const std::string type = json["dtype"].get<std::string>();
  const auto known =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const FormatType& t) { return t.name == type; });
  if (known == kTypes.end()) return wrong(fmt::format("has the unknown type '{}'", type));
  entry.dtype = known->dtype;
  for (const Json& extent : json["shape"]) {
    const auto number = natural(extent);
    if (!number) return wrong("has an extent that is no size");
    entry.shape.push_back(*number);
  }
  const auto begin = natural(json["data_offsets"][0]);
  const auto end = natural(json["data_offsets"][1]);
  if (!begin || !end || *begin > *end || static_cast<std::size_t>(*end) > size)
    return wrong(fmt::format("lies outside of the file's {} bytes of elements", size));
  entry.begin = static_cast<std::size_t>(*begin);
  entry.end = static_cast<std::size_t>(*end);
  // Without overflow: the extents come from the file.
  std::size_t bytes = dtype_size(entry.dtype);
  for (const int64_t extent : entry.shape) {
    if (extent == 0) bytes = 0;
    if (bytes != 0 && static_cast<std::size_t>(extent) > size / bytes + 1)
      return wrong("is larger than the file");
    bytes *= static_cast<std::size_t>(extent);
  }
  if (bytes != entry.end - entry.begin)
    return wrong(fmt::format("has {} bytes, its shape {} needs {}", entry.end - entry.begin,
                             shape_text(entry.shape), bytes));
  return entry;
}

// In the order of their elements, which fill the file without gaps.
Status check_layout(std::vector<TensorEntry>& entries, std::size_t size) {
  std::stable_sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t at = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.begin != at)
      return corrupt(fmt::format("tensor '{}' {}", entry.name,
                                 entry.begin < at ? "overlaps another" : "leaves a gap before it"));
    at = entry.end;
  }
  if (at != size) return corrupt(fmt::format("{} bytes behind the last tensor", size - at));
  return {};
}

Status read_metadata(const Json& json, std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) return corrupt("__metadata__ is no table of text");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return corrupt(fmt::format("__metadata__ '{}' is no text", key));
    metadata[key] = value.get<std::string>();
  }
  return {};
}

// nlohmann keeps the last of equal keys in silence.
Result<Json> parse_header(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  int depth_seen = 0;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    depth_seen = std::max(depth_seen, depth);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return depth <= 4;
  };
  Json header = Json::parse(text, look, false);
  if (header.is_discarded() || !header.is_object()) return corrupt("its header is no JSON object");
  if (depth_seen > 4) return corrupt("its header is nested too deep");
  if (!twice.empty()) return corrupt(fmt::format("its header names '{}' twice", twice));
  return header;
}

std::string_view format_name(DType dtype) {
  for (const FormatType& type : kTypes)
    if (type.dtype == dtype) return type.name;
  return {};
}

Result<std::string> header_of(const Safetensors& contents) {
  Json header = Json::object();
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::size_t at = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    const std::string_view type = format_name(tensor.dtype());
    if (type.empty())
      return unsupported(
          fmt::format("'{}': safetensors has no type for {}", name, dtype_name(tensor.dtype())));
    if (header.contains(name) || name == "__metadata__")
      return invalid(fmt::format("two tensors are named '{}'", name));
    header[name] = {{"dtype", type}, {"shape", tensor.shape()}, {"data_offsets", {at, at + tensor.bytes()}}};
    at += tensor.bytes();
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  if (text.size() > kMostHeader) return invalid("too many tensors for one safetensors file");
  return text;
}

}  // namespace

Result<Safetensors> parse_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return corrupt("is too short for a safetensors file");
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > kMostHeader || length > bytes.size() - sizeof length)
    return corrupt(fmt::format("says that its header has {} bytes", length));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  const std::span<const std::byte> elements = bytes.subspan(sizeof length + length);
  HONE_ASSIGN(const Json header, parse_header(text));
  Safetensors contents;
  std::vector<TensorEntry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      HONE_CHECK(read_metadata(json, contents.metadata));
      continue;
    }
    HONE_ASSIGN(TensorEntry entry, entry_of(name, json, elements.size()));
    entries.push_back(std::move(entry));
  }
  HONE_CHECK(check_layout(entries, elements.size()));
  for (TensorEntry& entry : entries)
    contents.tensors.emplace_back(
        std::move(entry.name),
        Tensor::borrowed(entry.dtype, std::move(entry.shape), elements.data() + entry.begin, owner));
  return contents;
}

Result<Safetensors> read_safetensors(const std::filesystem::path& path) {
  HONE_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  auto contents = parse_safetensors(file->bytes(), file);
  if (!contents.ok()) return contents.error().within(path.string());
  return contents;
}

Status write_safetensors(AtomicFile& file, const Safetensors& contents) {
  HONE_ASSIGN(const std::string header, header_of(contents));
  const uint64_t length = header.size();
  HONE_CHECK(file.write(std::as_bytes(std::span(&length, 1))));
  HONE_CHECK(file.write(header));
  for (const auto& [name, tensor] : contents.tensors)
    HONE_CHECK(file.write(std::span(static_cast<const std::byte*>(tensor.data()), tensor.bytes())));
  return {};
}

Status write_safetensors(const std::filesystem::path& path, const Safetensors& contents) {
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HONE_CHECK(write_safetensors(file, contents));
  return file.commit();
}

}  // namespace hone::model
