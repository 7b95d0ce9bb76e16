// Protobuf's wire format with every read checked: protozero trusts its caller to ask for the right wire type,
// and a hostile file gives the wrong one. Internal to the ONNX reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace hone::model::onnx {

// Thrown inside decoding, as protozero does; decode_*() turn both into an Error.
class WireError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One message, read field by field: while (message.next()) switch (message.field()) …, skip() for unknown
// ones.
class Message {
 public:
  explicit Message(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  bool next() { return reader_.next(); }
  uint32_t field() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  int64_t integer() {
    expect(protozero::pbf_wire_type::varint);
    return reader_.get_int64();
  }
  int32_t small_integer() {  // int32 and enum fields: kept as protobuf does, modulo 2^32
    return static_cast<int32_t>(integer());
  }
  float real() {
    expect(protozero::pbf_wire_type::fixed32);
    return reader_.get_float();
  }
  std::string_view bytes() {
    expect(protozero::pbf_wire_type::length_delimited);
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  Message message() { return Message(bytes()); }

  // Repeated scalars come packed in one field or as one field each; both are legal in any file.
  template <typename T>
  void append_integers(std::vector<T>& values) {
    if (!packed()) {
      values.push_back(static_cast<T>(integer()));
      return;
    }
    const std::string_view data = bytes();
    values.reserve(values.size() + count_varints(data));
    const char* at = data.data();
    const char* end = at + data.size();
    while (at != end) values.push_back(static_cast<T>(protozero::decode_varint(&at, end)));
  }
  template <typename T, protozero::pbf_wire_type kWire>
  void append_fixed(std::vector<T>& values) {
    if (!packed()) {
      expect(kWire);
      values.push_back(fixed<T>());
      return;
    }
    const std::string_view data = bytes();
    if (data.size() % sizeof(T) != 0) throw WireError("a packed field is cut off");
    const std::size_t before = values.size();
    values.resize(before + data.size() / sizeof(T));
    if (!data.empty()) std::memcpy(values.data() + before, data.data(), data.size());
  }
  void append_floats(std::vector<float>& values) {
    append_fixed<float, protozero::pbf_wire_type::fixed32>(values);
  }
  void append_doubles(std::vector<double>& values) {
    append_fixed<double, protozero::pbf_wire_type::fixed64>(values);
  }

 private:
  bool packed() const { return reader_.wire_type() == protozero::pbf_wire_type::length_delimited; }
  void expect(protozero::pbf_wire_type wire) const {
    if (reader_.wire_type() != wire)
      throw WireError("field " + std::to_string(field()) + " has the wrong wire type");
  }
  template <typename T>
  T fixed() {
    if constexpr (sizeof(T) == 4) {
      return reader_.get_float();
    } else {
      return reader_.get_double();
    }
  }
  // Every varint ends with a byte below 128, so this is exact and bounded by the bytes that are there.
  static std::size_t count_varints(std::string_view data) {
    std::size_t count = 0;
    for (const char c : data) count += (static_cast<unsigned char>(c) & 0x80u) == 0;
    return count;
  }

  protozero::pbf_reader reader_;
};

}  // namespace hone::model::onnx
