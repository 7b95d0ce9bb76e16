// A PyTorch for tests, as far as operators' callbacks_ go: structures of the same kind as PyTorch's, laid out as
// `Version` says, and what the learner asks for. Everything that is not looked for is filled with numbers that could
// be mistaken for it.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "observe/inject/torch/learn.h"

namespace hone::observe::torch {

// PyTorch 2.11 as it is built for x86-64.
struct Version211 {
  static constexpr std::size_t kScopes = 10, kFunction = 0, kUser = 7;
  static constexpr bool kAsksBefore = false;  // a function before the probability of sampling
  static constexpr std::size_t kRecordBefore = 176, kRecordBetween = 8, kTensorBefore = 72,
                               kTensorBetween = 24, kListBefore = 16;
  static constexpr std::size_t kInlineDims = 5;
  static constexpr uint32_t kNone = 0, kTensor = 1, kReal = 3, kInteger = 5, kBoolean = 9, kList = 15;
  static constexpr bool kHandsOverInputs = true, kTellsSequence = true;
};

// No version there is: everything is somewhere else.
struct VersionOther : Version211 {
  static constexpr std::size_t kScopes = 13, kFunction = 2, kUser = 11;
  static constexpr bool kAsksBefore = true;
  static constexpr std::size_t kRecordBefore = 40, kRecordBetween = 120, kTensorBefore = 16,
                               kTensorBetween = 2, kListBefore = 32;
  static constexpr std::size_t kInlineDims = 3;
  static constexpr bool kTellsSequence = false;
  static constexpr uint32_t kNone = 7, kTensor = 4, kReal = 1, kInteger = 2, kBoolean = 6, kList = 5;
};

struct VersionWithoutInputs : Version211 {
  static constexpr bool kHandsOverInputs = false;
};

template <typename Version>
class FakeTorch {
 public:
  struct Value {
    uint64_t payload = 0;
    uint32_t tag = Version::kNone;
  };
  struct Tensor {
    std::array<std::byte, Version::kTensorBefore> before;
    uint64_t dims;
    std::array<int64_t, 2 * Version::kInlineDims> numbers;
    std::array<std::byte, Version::kTensorBetween> between;
    uint16_t dtype;
    std::array<std::byte, 480> after;
  };
  struct List {
    std::array<std::byte, Version::kListBefore> before;
    std::vector<Value> values;
    const void* type;
    std::array<std::byte, 96> after;
  };
  struct Record {
    std::array<std::byte, Version::kRecordBefore> before;
    const char* name;
    int64_t sequence;
    std::array<std::byte, Version::kRecordBetween> between;
    const Value* inputs;
    uint64_t count;
    std::array<std::byte, 1024> after;
  };
  struct Callback211 {
    StartFunction start;
    EndFunction end;
    double probability;
    std::array<bool, Version::kScopes> scopes;
    bool needs_inputs, needs_outputs, needs_ids;
  };
  struct CallbackAsking {
    StartFunction start;
    EndFunction end;
    bool (*asks)();
    double probability;
    std::array<bool, Version::kScopes> scopes;
    bool needs_inputs, needs_outputs, needs_ids;
  };
  using Registered = std::conditional_t<Version::kAsksBefore, CallbackAsking, Callback211>;

  // One at a time: callbacks_ carry no argument.
  FakeTorch() { current_ = this; }
  ~FakeTorch() { current_ = nullptr; }
  FakeTorch(const FakeTorch&) = delete;
  FakeTorch& operator=(const FakeTorch&) = delete;

  static Symbols symbols() {
    Symbols symbols;
    const auto add = +[](Registered callback) {
      current_->callbacks_[++current_->handles_] = callback;
      return current_->handles_;
    };
    symbols.add_callback = reinterpret_cast<uint64_t (*)(Callback)>(reinterpret_cast<void*>(add));
    symbols.remove_callback = +[](uint64_t handle) { current_->callbacks_.erase(handle); };
    symbols.name = +[](const RecordFunction* record) { return static_cast<const Record*>(record)->name; };
    return symbols;
  }

  static Layout layout() {
    Layout layout;
    layout.callback.probability = offsetof(Registered, probability);
    layout.callback.flags = offsetof(Registered, scopes);
    layout.callback.function = Version::kFunction;
    layout.callback.user_scope = Version::kUser;
    layout.callback.needs_inputs = Version::kScopes;
    layout.inputs = offsetof(Record, inputs);
    layout.sequence = offsetof(Record, sequence);
    layout.value = {Version::kTensor,     Version::kInteger,
                    Version::kReal,       Version::kBoolean,
                    Version::kList,       offsetof(List, values),
                    offsetof(List, type), reinterpret_cast<uint64_t>(&kOfTensors)};
    layout.tensor = {offsetof(Tensor, dims), offsetof(Tensor, numbers), Version::kInlineDims,
                     offsetof(Tensor, dtype)};
    for (const auto& [number, name] : dtypes()) std::strcpy(layout.dtypes[number].data(), name.c_str());
    return layout;
  }

  // ScalarType's numbers.
  static const std::map<uint16_t, std::string>& dtypes() {
    static const std::map<uint16_t, std::string> names = {
        {0, "u8"},  {1, "i8"},  {2, "i16"},   {3, "i32"},   {4, "i64"},     {5, "f16"},
        {6, "f32"}, {7, "f64"}, {11, "bool"}, {15, "bf16"}, {23, "f8e5m2"}, {44, "f8e8m0"}};
    return names;
  }

  // Packed if no strides are given.
  const Tensor* tensor(const std::string& dtype, const std::vector<int64_t>& sizes,
                       std::vector<int64_t> strides = {}) {
    if (strides.empty()) {
      strides.resize(sizes.size());
      int64_t step = 1;
      for (std::size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides[i] = step;
    }
    Tensor& made = tensors_.emplace_back();
    std::memset(&made, 3, sizeof made);
    made.dims = sizes.size();
    for (const auto& [number, name] : dtypes())
      if (name == dtype) made.dtype = number;
    if (sizes.size() <= Version::kInlineDims) {
      std::copy(sizes.begin(), sizes.end(), made.numbers.begin());
      std::copy(strides.begin(), strides.end(), made.numbers.begin() + Version::kInlineDims);
      return &made;
    }
    std::vector<int64_t>& array = arrays_.emplace_back(sizes);
    array.insert(array.end(), strides.begin(), strides.end());
    made.numbers[0] = static_cast<int64_t>(reinterpret_cast<uint64_t>(array.data()));
    return &made;
  }

  static Value value(const Tensor* tensor) { return {reinterpret_cast<uint64_t>(tensor), Version::kTensor}; }
  static Value value(int64_t number) { return {static_cast<uint64_t>(number), Version::kInteger}; }
  static Value value(double number) { return {std::bit_cast<uint64_t>(number), Version::kReal}; }
  // What lies beside the one byte of a bool is left from before.
  static Value value(bool yes) { return {0xabcdef00u | uint64_t{yes}, Version::kBoolean}; }
  Value list(std::vector<Value> values, const void* type) {
    List& made = lists_.emplace_back();
    made.before.fill(std::byte{2});
    made.values = std::move(values);
    made.type = type;
    return {reinterpret_cast<uint64_t>(&made), Version::kList};
  }
  Value list_of_tensors(std::vector<Value> values) { return list(std::move(values), &kOfTensors); }
  Value list_of_numbers(std::vector<Value> values) { return list(std::move(values), &kOfNumbers); }
  // Those that may be None, of aten::index.
  Value list_of_optional(std::vector<Value> values) { return list(std::move(values), &kOfOptional); }

  // An operator, or a range, that calls `inside`.
  template <typename Inside>
  void call(std::size_t scope, const std::string& name, int64_t sequence, std::vector<Value> inputs,
            Inside inside) {
    const std::map<uint64_t, Registered> now = callbacks_;
    bool with_inputs = false;
    for (const auto& [handle, callback] : now)
      with_inputs = with_inputs || (callback.scopes[scope] && callback.needs_inputs);
    if (!Version::kHandsOverInputs) with_inputs = false;
    Record record;
    std::memset(static_cast<void*>(&record), 0, sizeof record);
    // As a compiler may leave it: the same values again behind the structure.
    record.name = name.c_str();
    record.sequence = sequence;
    record.inputs = with_inputs ? inputs.data() : nullptr;
    record.count = with_inputs ? inputs.size() : 0;
    std::memcpy(record.after.data() + 64, &record.inputs, 16);
    std::memcpy(record.after.data() + 512, &record.sequence, 8);
    for (const auto& [handle, callback] : now)
      if (callback.scopes[scope] && callback.probability == 1) callback.start(&record);
    inside();
    for (const auto& [handle, callback] : now)
      if (callback.scopes[scope] && callback.probability == 1) callback.end(&record, nullptr);
  }
  void call(const std::string& name, std::vector<Value> inputs, int64_t sequence = -1) {
    call(Version::kFunction, name, sequence, std::move(inputs), [] {});
  }
  void range(const std::string& name) {
    call(Version::kUser, name, -1, {}, [] {});
  }

  // What hone_torch.py does in PyTorch.
  int64_t perform(Learner& learner, Deed deed, int round) {
    switch (deed) {
      case Deed::kPrepare:
        prepare(learner, round);
        return -1;
      case Deed::kMultiply:
        sequence_ += static_cast<int64_t>(sequences_of_multiply(round));
        call("aten::mul", {value(left_[round]), value(right_[round])}, sequence_);
        return Version::kTellsSequence ? sequence_ : -1;
      case Deed::kAdd:
        call("aten::add", {value(left_[round]), value(left_[round]), value(int64_t{3} + round)});
        return -1;
      case Deed::kClamp:
        call("aten::clamp", {value(left_[round]), value(0.375 + round), Value{}});
        return -1;
      case Deed::kSum:
        call("aten::sum", {value(left_[round]), list_of_numbers({value(int64_t{0}), value(int64_t{2})}),
                           value(round == 0), Value{}});
        return -1;
      case Deed::kConcatenate:
        call("aten::cat", {list_of_tensors({value(left_[round]), value(right_[round])}), value(int64_t{1})});
        return -1;
      case Deed::kUserRange:
        range(std::string(kUserRangeName));
        return -1;
    }
    return -1;
  }

 private:
  void prepare(Learner& learner, int round) {
    const auto tell = [&](TensorFact::Role role, const std::string& dtype, std::vector<int64_t> sizes,
                          std::vector<int64_t> strides) {
      const Tensor* made = tensor(dtype, sizes, strides);
      learner.tell({role, made, std::move(sizes), std::move(strides), dtype});
      return made;
    };
    using Role = TensorFact::Role;
    left_[round] = tell(Role::kLeft, "f32", {5, 3 + round, 7}, {7, 35, 1});
    right_[round] = tell(Role::kRight, "f32", {5, 3 + round, 7}, {7 * (3 + round), 7, 1});
    for (int dims = 0; dims <= 8; ++dims) {
      std::vector<int64_t> sizes, strides;
      int64_t step = 1 + round;
      for (int i = 0; i < dims; ++i, step *= sizes.back()) {
        sizes.push_back(2 + (i + round) % 3);
        strides.push_back(step);
      }
      tell(Role::kOther, dims % 2 == 0 ? "i64" : "bf16", sizes, strides);
    }
    for (const auto& [number, name] : dtypes()) tell(Role::kOther, name, {3 + round}, {1});
  }

  inline static FakeTorch* current_ = nullptr;
  inline static const int kOfTensors = 0, kOfNumbers = 0, kOfOptional = 0;

  std::map<uint64_t, Registered> callbacks_;
  uint64_t handles_ = 0;
  int64_t sequence_ = 20;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<int64_t>> arrays_;
  std::deque<List> lists_;
  std::array<const Tensor*, kRounds> left_ = {}, right_ = {};
};

// What the learner finds in such a PyTorch.
template <typename Version>
Layout learn_from(FakeTorch<Version>& torch) {
  Learner* of_run = nullptr;
  Learner learner(torch.symbols(), [&](Deed deed, int round) { return torch.perform(*of_run, deed, round); });
  of_run = &learner;
  return learner.run();
}

}  // namespace hone::observe::torch
