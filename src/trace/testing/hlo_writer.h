// Modules of XLA for tests (xla/service/hlo.proto), instruction by instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace hone::trace {

inline constexpr int kHloF32 = 11, kHloBf16 = 16, kHloS32 = 4;  // PrimitiveType

struct HloRow {
  std::string name, opcode;
  int type = kHloF32;
  std::vector<int64_t> dims = {};
  std::vector<int64_t> operands = {};  // ids: places in the computation, from 1
  std::string op_name = {};
  std::vector<int64_t> called = {};           // ids of computations
  std::vector<int64_t> contracted = {};       // of a dot
  std::string target = {}, config = {};       // of a custom call
  std::string window = {}, convolution = {};  // their messages
  std::string file = {};
  int line = 0;
  std::vector<int64_t> precisions = {};  // of a product's operands
};

struct HloRows {
  int64_t id = 1;
  std::vector<HloRow> rows;  // the last is the root
};

inline std::string hlo_shape(int type, const std::vector<int64_t>& dims) {
  std::string bytes;
  protozero::pbf_writer shape(bytes);
  shape.add_int32(2, type);
  shape.add_packed_int64(3, dims.begin(), dims.end());
  return bytes;
}

inline std::string hlo_instruction(const HloRow& row, int64_t id) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, row.name);
  message.add_string(2, row.opcode);
  message.add_message(3, hlo_shape(row.type, row.dims));
  std::string metadata;
  protozero::pbf_writer named(metadata);
  named.add_string(2, row.op_name);
  if (!row.file.empty()) named.add_string(3, row.file);
  if (row.line > 0) named.add_int32(4, row.line);
  message.add_message(7, metadata);
  if (!row.window.empty()) message.add_message(15, row.window);
  if (!row.convolution.empty()) message.add_message(16, row.convolution);
  if (!row.target.empty()) message.add_string(28, row.target);
  if (!row.contracted.empty()) {
    std::string dot;
    protozero::pbf_writer(dot).add_packed_int64(1, row.contracted.begin(), row.contracted.end());
    message.add_message(30, dot);
  }
  message.add_int64(35, id);
  message.add_packed_int64(36, row.operands.begin(), row.operands.end());
  message.add_packed_int64(38, row.called.begin(), row.called.end());
  if (!row.precisions.empty()) {
    std::string precision;
    protozero::pbf_writer(precision).add_packed_int64(1, row.precisions.begin(), row.precisions.end());
    message.add_message(51, precision);
  }
  if (!row.config.empty()) message.add_bytes(43, row.config);
  return bytes;
}

// The bytes of an HloProto; called computations come before their callers.
inline std::string hlo_proto(const std::vector<HloRows>& computations) {
  std::string module;
  protozero::pbf_writer message(module);
  message.add_string(1, "jit_step");
  for (const HloRows& computation : computations) {
    std::string bytes;
    protozero::pbf_writer rows(bytes);
    int64_t id = 0;
    for (const HloRow& row : computation.rows) rows.add_message(2, hlo_instruction(row, ++id));
    rows.add_int64(5, computation.id);
    rows.add_int64(6, id);
    message.add_message(3, bytes);
  }
  std::string proto;
  protozero::pbf_writer(proto).add_message(1, module);
  return proto;
}

}  // namespace hone::trace
