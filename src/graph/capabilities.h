// What the kernels of a provider take, as data: the provider owns the table and fills it from what its
// lowerings read themselves; passes ask it through Target (passes/pass.h). Nothing of it is written a second
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"

namespace hone::graph {

// A set of element types.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (DType type : types) add(type);
  }
  constexpr void add(DType type) { bits_ |= bit(type); }
  constexpr bool holds(DType type) const { return (bits_ & bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend bool operator==(const DTypeSet&, const DTypeSet&) = default;

 private:
  static constexpr uint64_t bit(DType type) { return uint64_t{1} << static_cast<unsigned>(type); }
  uint64_t bits_ = 0;
};

// An operator that pointwise groups may hold.
struct PointwiseCapability {
  std::string_view op;
  DTypeSet types;                  // of its operands within a group
  bool optional_operands = false;  // operands after the first may be absent
};

// What a product's or convolution's kernel does to its result before it stores it.
struct EpilogueCapability {
  std::string_view op;
  // With a second tensor: constant (a number, or one a channel), or like the result.
  bool binary = false;
  // QuantizeLinear with the DequantizeLinear that alone reads it, one step for all elements.
  bool pair = false;
  // Behind a matrix product, one number a column may be one that is known only when it runs: a bias in training.
  bool any_row = false;
};

struct Capabilities {
  // Pointwise groups: kernels hold a tile of each live value in the fastest memory, hence the limits.
  std::vector<PointwiseCapability> pointwise;
  std::size_t pointwise_operators = 0;  // at most in one group; 0: no groups
  std::size_t pointwise_inputs = 0;     // tensors that one group reads, at most

  // Groups of a convolution or product with its epilogue.
  std::vector<EpilogueCapability> epilogue;
  std::size_t epilogue_operators = 0;  // at most behind one product; 0: no groups

  DTypeSet products;  // element types that convolutions and products have kernels for
  // Types that convolutions and products can read besides, and nothing else: what lies between them stays f32. Their sums are
  // f32, so that a Cast of such a product's result to f32 is a step of its epilogue that stores them as they are, and a
  // Cast back the last one.
  DTypeSet converted_products;
  // Products of these may sum the rows of an operand meanwhile (groups of kind bias_gradient).
  DTypeSet bias_gradients;
  // Types whose matrix products can add their sums, which are f32, to a tensor of f32: a Cast of the result and the Adds behind
  // it are steps of the epilogue, which rounds nothing between them.
  DTypeSet widened_sums;
  bool narrow_normalizations = false;  // groups that store what a normalisation of f32 gives in f16 or bf16
  bool attention = false;              // Attention without the matrix of all weights in memory
  bool split_attention = false;        // attention groups: operands are read as parts of wider rows

  Layout convolution_layout = Layout::kPlain;  // what convolutions run fastest in
  Layout converted_layout = Layout::kPlain;    // and those that read converted_products
  bool tf32_products = false;  // of f32: faster where they may round their operands (graph/product_math.h)
  DTypeSet laid_out;           // element types that tensors in that layout may have

  // Null where there is none.
  const PointwiseCapability* find_pointwise(std::string_view op) const;
  const EpilogueCapability* find_epilogue(std::string_view op) const;
};

}  // namespace hone::graph
