// TypeProto → TensorType, with symbolic extents bound to the numbers that the user gave.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/type.h"
#include "model/onnx/proto.h"
#include "model/onnx/reader.h"

namespace hone::model::onnx {

// The extents that symbols stand for, decided by the inputs of the model before anything else is read.
class SymbolBindings {
 public:
  // Binds the symbols of `inputs` as `options` say. An error for an option that fits no input or contradicts
  // one.
  static Result<SymbolBindings> make(const std::vector<const ValueInfoProto*>& inputs,
                                     const ReadOptions& options);

  // The type of an input of the model: every extent that an option binds is a number.
  Result<graph::TensorType> input_type(const ValueInfoProto& input) const;
  // The type that the file declares for any other value: bound symbols replaced. Undefined where it says
  // nothing.
  Result<graph::TensorType> declared_type(const TypeProto& type) const;

 private:
  std::map<std::string, int64_t, std::less<>> symbols_;
  std::map<std::string, Shape, std::less<>> input_shapes_;
  int64_t default_symbol_ = 0;
};

}  // namespace hone::model::onnx
