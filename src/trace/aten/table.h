// The form of the table of operators: what a rule gets and gives, and where the parts of the table are. To
// add an operator, add a line to the part that it belongs to (docs/adding-a-framework-operator.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "trace/aten/cost.h"
#include "trace/call_inputs.h"
#include "trace/operator_class.h"

namespace hone::trace::aten {

// The arguments of a call, by position in the operator's schema. What is not there, or is of another form,
// reads as nothing.
class Args {
 public:
  Args(std::span<const CallInput> inputs, bool in_place) : inputs_(inputs), in_place_(in_place) {}

  bool in_place() const { return in_place_; }  // the operator's name ends in '_': it writes to argument 0
  std::size_t count() const { return inputs_.size(); }

  std::span<const CallInput> first(int count) const;                  // so many of them, or all
  const CallInput* tensor(std::size_t i) const;                       // null: none
  std::span<const CallInput> list(std::size_t i) const;               // of tensors; empty: none
  std::optional<double> number(std::size_t i) const;                  // "0.5"
  std::optional<bool> flag(std::size_t i) const;                      // "True"
  std::optional<std::vector<int64_t>> integers(std::size_t i) const;  // "[1,1]"; "2" is one integer
  // "[True,True,False]": which results are wanted
  std::array<bool, 3> mask(std::size_t i, std::array<bool, 3> otherwise) const;
  double bytes(std::size_t i) const { return i < inputs_.size() ? inputs_[i].bytes() : 0; }
  // What reading it takes at least: of an expanded tensor what is there once.
  double stored_bytes(std::size_t i) const { return i < inputs_.size() ? inputs_[i].stored_bytes() : 0; }

 private:
  std::span<const CallInput> inputs_;
  bool in_place_;
};

// What a rule finds. CallCost, of which the entry may tell the class.
struct OperatorCost {
  double flops = 0;
  double read = 0;     // bytes
  double written = 0;  // bytes
  DType dtype = DType::kUndefined;
  std::string geometry;
  OperatorClass op_class = OperatorClass::kOther;  // if the inputs decide it; kOther: the entry's
  ResultTensor result = {};                        // the main one, where the rule says
};

struct Entry;
using CostRule = std::optional<OperatorCost>(const Args& args, const Entry& entry);

struct Entry {
  std::string_view kind;  // without "aten::" (with any other namespace) and without the '_' of the form that
                          // works in place
  OperatorClass op_class = OperatorClass::kOther;
  CostRule* rule = nullptr;  // null: the class is known, the cost is not, or that of the operators it calls
  double flops = 0;          // an element, where the rule asks for it
  int operands = 0;          // tensors, where the rule asks for it
};

// The parts of the table.
std::span<const Entry> matrix_operators();
std::span<const Entry> recurrent_operators();
std::span<const Entry> attention_operators();
std::span<const Entry> convolution_operators();
std::span<const Entry> pointwise_operators();
std::span<const Entry> normalization_operators();
std::span<const Entry> reduction_operators();
std::span<const Entry> movement_operators();
std::span<const Entry> optimizer_operators();

const Entry* find_entry(std::string_view kind);  // without "aten::"; null: unknown

// What rules share.

double elements(std::span<const int64_t> dims);
double tensor_bytes(std::span<const int64_t> dims, DType dtype);
// "16×512×3072"; "a scalar"
std::string dims_text(std::span<const int64_t> dims);
std::string tensor_text(const CallInput& tensor);  // "16×512×3072 bf16"
// The element type of a result by PyTorch's rule of promotion: tensors with dimensions before those without,
// numbers last; of two types of one kind the wider.
DType promote(std::span<const CallInput> operands);
// The type that PyTorch's number for it names (c10/core/ScalarType.h): 6 is f32, 15 is bf16.
DType scalar_type(int64_t code);

}  // namespace hone::trace::aten
