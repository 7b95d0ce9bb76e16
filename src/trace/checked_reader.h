// A protobuf reader that checks the wire type of every field before it reads it: protozero only asserts it,
// and a damaged file gives the wrong one. Throws protozero's exceptions, like every other failure of
// decoding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace hone::trace {

class CheckedReader {
 public:
  explicit CheckedReader(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}
  explicit CheckedReader(protozero::data_view bytes) : reader_(bytes) {}
  CheckedReader(const char* data, std::size_t size) : reader_(data, size) {}

  bool next() { return reader_.next(); }
  protozero::pbf_tag_type tag() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  int32_t get_int32() { return expect(protozero::pbf_wire_type::varint).get_int32(); }
  int64_t get_int64() { return expect(protozero::pbf_wire_type::varint).get_int64(); }
  uint64_t get_uint64() { return expect(protozero::pbf_wire_type::varint).get_uint64(); }
  uint64_t get_fixed64() { return expect(protozero::pbf_wire_type::fixed64).get_fixed64(); }
  double get_double() { return expect(protozero::pbf_wire_type::fixed64).get_double(); }
  std::string get_string() { return expect(protozero::pbf_wire_type::length_delimited).get_string(); }
  std::string_view get_text() {
    const protozero::data_view view = get_view();
    return {view.data(), view.size()};
  }
  // Repeated integers come packed in one field or as one field each; both are legal in any file.
  void append_integers(std::vector<int64_t>& values) {
    if (!reader_.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
      values.push_back(get_int64());
      return;
    }
    const std::string_view packed = get_text();
    const char* at = packed.data();
    const char* const end = at + packed.size();
    while (at != end) values.push_back(static_cast<int64_t>(protozero::decode_varint(&at, end)));
  }
  protozero::data_view get_view() { return expect(protozero::pbf_wire_type::length_delimited).get_view(); }

 private:
  protozero::pbf_reader& expect(protozero::pbf_wire_type type) {
    if (!reader_.has_wire_type(type)) throw protozero::unknown_pbf_wire_type_exception();
    return reader_;
  }

  protozero::pbf_reader reader_;
};

}  // namespace hone::trace
