// What an operator is called with, read in PyTorch's memory by a learnt Layout: a hash that equal calls share, and
// the text of trace/call_inputs.h, which is what torch.profiler's records become when they are imported.
#pragma once

#include <cstdint>
#include <string>

#include "observe/inject/torch/layout.h"
#include "observe/inject/torch/symbols.h"

namespace hone::observe::torch {

class Inputs {
 public:
  explicit Inputs(const Layout& layout) : layout_(layout) {}

  // Of the types, shapes and strides of tensors and of the values of everything else. Only while a start callback
  // that needs inputs runs for `record`. 0: there are none.
  uint64_t hash(const RecordFunction* record) const;
  std::string text(const RecordFunction* record) const;

 private:
  struct Tensor {
    uint64_t dims = 0;
    const int64_t* sizes = nullptr;
    const int64_t* strides = nullptr;
    uint16_t dtype = 0;
  };
  struct Values {
    const std::byte* first = nullptr;
    uint64_t count = 0;
  };

  Values inputs_of(const RecordFunction* record) const;
  Values list_of(const void* list) const;
  Tensor tensor_of(const void* impl) const;
  bool holds_tensors(const void* list, Values values) const;
  const char* dtype_name(uint16_t dtype) const;
  bool is_scalar(uint32_t tag) const;

  uint64_t hash_value(const std::byte* value, uint64_t hash) const;
  uint64_t hash_tensor(const void* impl, uint64_t hash) const;

  void write_value(const std::byte* value, std::string& text) const;
  void write_tensor(const void* impl, std::string& text) const;
  void write_list(const void* list, std::string& text) const;
  void write_scalar(const std::byte* value, std::string& text) const;

  const Layout& layout_;
};

}  // namespace hone::observe::torch
