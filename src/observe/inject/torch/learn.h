// Learns a Layout: PyTorch is asked to do small things whose arguments are known, while a callback looks at what it
// is called with. Whatever is found has to be found again in a second round, with other tensors and other numbers;
// what is not found stays unknown.
//
// A wrong guess may crash: who calls this in somebody else's program does so in a process of its own (apart.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/inject/torch/layout.h"
#include "observe/inject/torch/symbols.h"

namespace hone::observe::torch {

// What PyTorch is asked to do; `r` is the round, 0 or 1. hone_torch.py does it by these numbers.
enum class Deed : int32_t {
  kPrepare = 0,  // make the tensors, and say what they are (TensorFact)
  kMultiply,  // aten::mul(left, right), whose gradient is recorded: returns its sequence number, -1: not known
  kAdd,       // aten::add(left, left, 3 + r)
  kClamp,     // aten::clamp(left, 0.375 + r, None)
  kSum,       // aten::sum(left, [0, 2], r == 0, None)
  kConcatenate,  // aten::cat([left, right], 1)
  kUserRange,    // a range "hone range" that the program names
};
inline constexpr int kRounds = 2;
constexpr uint64_t sequences_of_multiply(int round) { return round == 0 ? 8 : 13; }
inline constexpr std::string_view kUserRangeName = "hone range";

struct TensorFact {
  enum class Role : int32_t { kLeft = 0, kRight = 1, kOther = 2 };
  Role role = Role::kOther;
  const void* impl = nullptr;  // Python's tensor._cdata
  std::vector<int64_t> sizes, strides;
  std::string dtype;  // as trace/call_inputs.h writes it; empty: hone has no name for it
};

// An argument as a callback found it.
struct LearntValue {
  uint64_t payload = 0;
  uint32_t tag = 0;
  std::vector<std::byte> pointee;              // what the payload points to, if it does
  std::vector<std::vector<std::byte>> beyond;  // what each word of that points to
};

class Learner {
 public:
  // `perform` does a deed in a round; during kPrepare it calls `tell`.
  using Perform = std::function<int64_t(Deed deed, int round)>;

  Learner(Symbols symbols, Perform perform) : symbols_(symbols), perform_(std::move(perform)) {}
  void tell(TensorFact fact) { facts_[static_cast<std::size_t>(round_)].push_back(std::move(fact)); }

  // Everything that could be found. One at a time in a process.
  Layout run();

 private:
  bool learn_callback();
  bool learn_inputs();
  void learn_sequence();
  std::vector<LearntValue> inputs_of(Deed deed, int round, std::string_view name);
  void learn_values();
  void learn_lists();
  bool learn_tensors();
  void learn_dtypes();

  Symbols symbols_;
  Perform perform_;
  Layout layout_;
  int round_ = 0;
  std::array<std::vector<TensorFact>, kRounds> facts_;
};

}  // namespace hone::observe::torch
