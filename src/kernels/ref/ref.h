// The reference kernels: one plain, obviously right implementation of every supported operator, the oracle
// for all providers. Written for clarity: no threads, no blocking; sums in double precision. They allocate
// their outputs, so they serve any shape, data-dependent ones too. Operators with sub-graphs are the
// interpreter's (runtime/).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/attributes.h"
#include "core/result.h"
#include "core/tensor.h"

namespace hone::kernels::ref {

struct RefCall {
  std::string_view op;             // the operator's name, for kernels that serve several
  const Attributes& attributes;    // canonical ONNX attributes; absent ones have ONNX's defaults
  std::span<const Tensor> inputs;  // an undefined Tensor where an optional input is absent
  std::size_t output_count = 1;    // how many outputs the node has; trailing optional ones may be left out

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
};

// Returns `output_count` tensors. An error says what the data or attributes have wrong, or
// `unsupported(...)`.
using RefKernel = Result<std::vector<Tensor>> (*)(const RefCall&);

class RefTable {
 public:
  // A second kernel for one operator is a bug: std::logic_error.
  void add(std::string_view op, RefKernel kernel);
  RefKernel find(std::string_view op) const;  // null if there is none
  std::vector<std::string> names() const;

 private:
  std::map<std::string, RefKernel, std::less<>> kernels_;
};

// The one table of this build, made on first use from the families below; immutable afterwards.
const RefTable& ref_table();

// One function a file (or folder) of ref/; the same families as graph/ops/.
void add_pointwise_kernels(RefTable&);
void add_reduction_kernels(RefTable&);
void add_movement_kernels(RefTable&);
void add_shape_kernels(RefTable&);
void add_matrix_kernels(RefTable&);
void add_convolution_kernels(RefTable&);
void add_normalization_kernels(RefTable&);
void add_recurrent_kernels(RefTable&);
void add_vision_kernels(RefTable&);
void add_signal_kernels(RefTable&);
void add_random_kernels(RefTable&);
void add_loss_kernels(RefTable&);
void add_string_kernels(RefTable&);
void add_optimizer_kernels(RefTable&);

}  // namespace hone::kernels::ref
