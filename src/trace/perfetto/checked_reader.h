// A protobuf reader that checks the wire type of every field before it reads it: protozero only asserts it,
// and a damaged file gives the wrong one. Throws protozero's exceptions, like every other failure of
// decoding.
#pragma once

#include <cstdint>
#include <string>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace hone::trace::perfetto {

class CheckedReader {
 public:
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
  protozero::data_view get_view() { return expect(protozero::pbf_wire_type::length_delimited).get_view(); }

 private:
  protozero::pbf_reader& expect(protozero::pbf_wire_type type) {
    if (!reader_.has_wire_type(type)) throw protozero::unknown_pbf_wire_type_exception();
    return reader_;
  }

  protozero::pbf_reader reader_;
};

}  // namespace hone::trace::perfetto
