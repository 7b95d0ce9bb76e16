#include "model/onnx/writer.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>

#include "core/file.h"
#include "core/onnx_dtype.h"
#include "model/onnx/expand.h"
#include "model/onnx/graph_writer.h"
#include "model/onnx/state_metadata.h"
#include "model/onnx/target_opset.h"
#include "model/onnx/tensor_proto.h"
#include "model/onnx/tensor_writer.h"

namespace hone::model {
namespace {

using namespace onnx;
using protozero::pbf_writer;

constexpr std::size_t kMostInside = 1'900'000'000;  // protobuf's limit is 2^31 - 1 for the whole file
constexpr std::size_t kBesideFrom = 1024;           // smaller tensors stay in the model either way
constexpr std::size_t kWeightAlignment = 64;        // of weights in the file: readers use them where they lie
constexpr std::size_t kPage = 4096;                 // of large ones in a file beside the model

// One initializer as it goes into the file: a message's fields up to the data, then the data.
struct Initializer {
  std::string name;
  const Tensor* tensor = nullptr;
  std::string fields;                 // everything before raw data
  std::optional<std::string> packed;  // the data where memory holds it otherwise
  std::size_t data_size = 0;          // of raw data; 0: `fields` is the whole message

  std::span<const std::byte> data() const {
    if (packed) return std::as_bytes(std::span(*packed));
    return {static_cast<const std::byte*>(tensor->data()), data_size};
  }
};

std::size_t varint_size(std::size_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void append_varint(std::string& bytes, std::size_t value) { protozero::add_varint_to_buffer(&bytes, value); }

void append_key(std::string& bytes, uint32_t field, std::size_t length) {
  append_varint(bytes, (field << 3) | 2u);  // wire type 2: length-delimited
  append_varint(bytes, length);
}

Initializer make_initializer(const std::string& name, const Tensor& tensor) {
  Initializer made;
  made.name = name;
  made.tensor = &tensor;
  if (tensor.dtype() == DType::kString) {
    append_tensor(made.fields, tensor, name);
    return made;
  }
  pbf_writer writer(made.fields);
  writer.add_packed_int64(1, tensor.shape().begin(), tensor.shape().end());
  writer.add_int32(2, static_cast<int32_t>(dtype_to_onnx(tensor.dtype())));
  writer.add_string(8, name);
  if (dtype_bits(tensor.dtype()) < 8) made.packed = packed_elements(tensor);
  made.data_size = packed_size(tensor);
  return made;
}

// Bytes between the start of an initializer's field and its data, for a doc_string of `padding` spaces (none
// for 0).
std::string initializer_head(const Initializer& initializer, std::size_t padding) {
  std::string fields = initializer.fields;
  if (padding > 0) {
    append_key(fields, 12, padding);
    fields.append(padding, ' ');
  }
  if (initializer.data_size > 0) append_key(fields, 9, initializer.data_size);
  std::string head;
  append_key(head, 5, fields.size() + initializer.data_size);
  return head + fields;
}

// The head that makes the data lie aligned when the field starts at `position` of the file. Padding goes into
// the tensor's doc_string, which says nothing to anyone.
std::string aligned_head(const Initializer& initializer, std::size_t position) {
  const std::string plain = initializer_head(initializer, 0);
  if (initializer.data_size < kWeightAlignment || (position + plain.size()) % kWeightAlignment == 0)
    return plain;
  for (std::size_t padding = 1; padding <= kWeightAlignment; ++padding) {
    std::string head = initializer_head(initializer, padding);
    if ((position + head.size()) % kWeightAlignment == 0) return head;
  }
  return plain;
}

std::string model_head(const Target& target, const graph::Graph& graph) {
  std::string bytes;
  pbf_writer model(bytes);
  model.add_int64(1, target.ir_version);
  model.add_string(2, "hone");
  const auto import = [&](const std::string& domain, int64_t version) {
    pbf_writer opset(model, 8);
    opset.add_string(1, domain);
    opset.add_int64(2, version);
  };
  import("", target.opset);
  for (const auto& [domain, version] : target.domains) import(domain, version);
  for (const auto& [key, value] : state_metadata(graph)) {
    pbf_writer entry(model, 14);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  return bytes;
}

// Writes the model. Where the graph's length takes more or fewer bytes than thought, everything behind it
// moves and the padding changes: settled in a few rounds, because the length grows by at most a few bytes.
Status write_model(AtomicFile& file, const std::string& head, const std::string& graph,
                   const std::vector<Initializer>& initializers) {
  std::vector<std::string> heads(initializers.size());
  std::size_t length_size = varint_size(graph.size());
  std::size_t length = 0;
  for (int round = 0; round < 8; ++round) {
    const std::size_t start = head.size() + 1 + length_size;
    length = graph.size();
    for (std::size_t i = 0; i < initializers.size(); ++i) {
      heads[i] = aligned_head(initializers[i], start + length);
      length += heads[i].size() + initializers[i].data_size;
    }
    if (varint_size(length) == length_size) break;
    length_size = varint_size(length);
  }
  std::string start = head;
  append_key(start, 7, length);
  HONE_CHECK(file.write(start));
  HONE_CHECK(file.write(graph));
  for (std::size_t i = 0; i < initializers.size(); ++i) {
    HONE_CHECK(file.write(heads[i]));
    if (initializers[i].data_size > 0) HONE_CHECK(file.write(initializers[i].data()));
  }
  return {};
}

// Moves the data of large tensors to the file beside the model; their messages say where.
Status write_beside(AtomicFile& file, const std::string& location, std::vector<Initializer>& initializers) {
  for (Initializer& initializer : initializers) {
    if (initializer.data_size < kBesideFrom) continue;
    const std::size_t alignment = initializer.data_size >= kPage ? kPage : kWeightAlignment;
    HONE_CHECK(file.write(std::string((alignment - file.position() % alignment) % alignment, '\0')));
    const std::size_t offset = file.position();
    HONE_CHECK(file.write(initializer.data()));
    pbf_writer writer(initializer.fields);
    const auto entry = [&](const char* key, const std::string& value) {
      pbf_writer message(writer, 13);
      message.add_string(1, key);
      message.add_string(2, value);
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(initializer.data_size));
    writer.add_int32(14, 1);  // data_location: external
    initializer.data_size = 0;
  }
  return {};
}

Status write_files(const graph::Graph& graph, const std::filesystem::path& path,
                   const WriteOptions& options) {
  HONE_ASSIGN(const graph::Graph plain, expand_groups(graph, options.own_operators));
  HONE_ASSIGN(const Target target, choose_target(plain, options.opset, options.own_operators));
  HONE_ASSIGN(const MainGraph main, write_main_graph(plain));
  std::vector<Initializer> initializers;
  std::size_t weights = main.bytes.size();
  for (const auto& [name, tensor] : main.initializers) {
    initializers.push_back(make_initializer(name, *tensor));
    weights += initializers.back().data_size + initializers.back().fields.size() + kWeightAlignment;
  }
  const bool beside = options.weights == WriteOptions::Weights::kBeside ||
                      (options.weights == WriteOptions::Weights::kAutomatic && weights > kMostInside);
  if (!beside && weights > kMostInside)
    return invalid(
        fmt::format("{} bytes of weights do not fit one ONNX file; write them beside it", weights));
  HONE_ASSIGN(AtomicFile model, AtomicFile::create(path));
  if (beside) {
    const std::string location = path.filename().string() + ".data";
    HONE_ASSIGN(AtomicFile data, AtomicFile::create(path.parent_path() / location));
    HONE_CHECK(write_beside(data, location, initializers));
    HONE_CHECK(write_model(model, model_head(target, plain), main.bytes, initializers));
    HONE_CHECK(data.commit());  // first: a model that names data that are not there would be broken
    return model.commit();
  }
  HONE_CHECK(write_model(model, model_head(target, plain), main.bytes, initializers));
  return model.commit();
}

}  // namespace

Status write_onnx(const graph::Graph& graph, const std::filesystem::path& path, const WriteOptions& options) {
  Status status = write_files(graph, path, options);
  if (!status.ok() && status.error().message.find(path.string()) == std::string::npos)
    return status.error().within(path.string());
  return status;
}

}  // namespace hone::model
