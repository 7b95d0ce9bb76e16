#include "observe/inject/torch/learn.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "observe/inject/torch/safe_memory.h"

namespace hone::observe::torch {
namespace {

constexpr std::size_t kValueBytes = 16;
constexpr std::size_t kMostRecordBytes = 1024;  // looked at, from the beginning of a RecordFunction
constexpr std::size_t kTensorBytes = 512;       // of a TensorImpl
constexpr std::size_t kListBytes = 128;

// PyTorch's callbacks carry no argument of ours: whom they tell, while a deed is done.
using Watcher = std::function<void(const RecordFunction*)>;
Watcher* watching = nullptr;

std::unique_ptr<Context> watch_start(const RecordFunction* record) {
  if (watching != nullptr) (*watching)(record);
  return nullptr;
}

void watch_end(const RecordFunction*, Context*) {}

// A copy of the beginning of a structure, as far as it can be read.
std::vector<std::byte> copy_of(const SafeMemory& memory, const void* from, std::size_t most) {
  constexpr std::size_t kPiece = 64;
  std::vector<std::byte> copy(most);
  std::size_t got = 0;
  while (got < most && memory.read(static_cast<const std::byte*>(from) + got, copy.data() + got, kPiece))
    got += kPiece;
  copy.resize(got);
  return copy;
}

uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  return offset + 8 <= bytes.size() ? member<uint64_t>(bytes.data(), offset) : 0;
}

struct Value {
  uint64_t payload = 0;
  uint32_t tag = 0;
};

std::optional<std::vector<Value>> values_at(const SafeMemory& memory, uint64_t address, std::size_t count) {
  std::vector<Value> values(count);
  const auto* at = reinterpret_cast<const std::byte*>(address);
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::byte, kValueBytes> bytes;
    if (address % 8 != 0 || !memory.read(at + i * kValueBytes, bytes)) return std::nullopt;
    values[i] = {member<uint64_t>(bytes.data(), 0), member<uint32_t>(bytes.data(), 8)};
  }
  return values;
}

uint64_t address_of(const void* object) { return reinterpret_cast<uint64_t>(object); }

// Offsets that every experiment allows; the first is the answer, for what lies behind the structure on the stack
// may repeat what is in it.
class Offsets {
 public:
  void allow(std::vector<uint32_t> found) {
    if (!any_) {
      left_ = std::move(found);
    } else {
      std::erase_if(left_, [&](uint32_t offset) { return std::ranges::find(found, offset) == found.end(); });
    }
    any_ = true;
  }
  uint32_t first() const { return left_.empty() ? kUnknown : left_.front(); }

 private:
  bool any_ = false;
  std::vector<uint32_t> left_;
};

// A fact that all experiments have to agree about.
template <typename T>
class Agreed {
 public:
  void say(T value) {
    if (value_ && *value_ != value) wrong_ = true;
    value_ = value;
  }
  T value_or(T otherwise) const { return value_ && !wrong_ ? *value_ : otherwise; }

 private:
  std::optional<T> value_;
  bool wrong_ = false;
};

const TensorFact* fact_of(const std::vector<TensorFact>& facts, TensorFact::Role role) {
  const auto at = std::ranges::find(facts, role, &TensorFact::role);
  return at == facts.end() ? nullptr : &*at;
}

// Numbers of ScalarType that PyTorch has kept since its beginning.
constexpr std::pair<std::string_view, uint16_t> kOldDtypes[] = {
    {"u8", 0},  {"i8", 1},  {"i16", 2}, {"i32", 3},   {"i64", 4},
    {"f16", 5}, {"f32", 6}, {"f64", 7}, {"bool", 11}, {"bf16", 15},
};

std::optional<uint16_t> old_dtype(std::string_view name) {
  for (const auto& [known, number] : kOldDtypes)
    if (known == name) return number;
  return std::nullopt;
}

bool same_numbers(std::span<const std::byte> bytes, std::size_t offset, std::span<const int64_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (offset + 8 * i + 8 > bytes.size() || member<int64_t>(bytes.data(), offset + 8 * i) != numbers[i])
      return false;
  return true;
}

// One tensor, as it lies in memory.
struct TensorImage {
  const TensorFact* fact;
  std::vector<std::byte> bytes;
};

bool sizes_stand_at(const SafeMemory& memory, const TensorImage& tensor, uint32_t offset,
                    uint32_t inline_dims) {
  const TensorFact& fact = *tensor.fact;
  if (fact.sizes.size() <= inline_dims)
    return same_numbers(tensor.bytes, offset, fact.sizes) &&
           same_numbers(tensor.bytes, offset + 8 * inline_dims, fact.strides);
  const uint64_t array = word_at(tensor.bytes, offset);
  std::vector<int64_t> both(2 * fact.sizes.size()), wanted = fact.sizes;
  wanted.insert(wanted.end(), fact.strides.begin(), fact.strides.end());
  return array % 8 == 0 && memory.read(reinterpret_cast<const void*>(array), both.data(), 8 * both.size()) &&
         both == wanted;
}

// What one deed shows to a callback with some flags.
class Experiment {
 public:
  Experiment(const Symbols& symbols, const Learner::Perform& perform, const CallbackLayout& layout)
      : symbols_(symbols), perform_(perform), layout_(layout) {}

  // `see` is called for each operator and range of that name. Returns what the deed does.
  int64_t run(Deed deed, int round, std::initializer_list<uint32_t> flags, std::string_view name,
              const Watcher& see) const {
    Callback callback = make_callback(layout_, watch_start, watch_end);
    for (const uint32_t flag : flags) set_flag(callback, layout_, flag);
    Watcher watcher = [&](const RecordFunction* record) {
      const char* called = symbols_.name(record);
      if (called != nullptr && called == name) see(record);
    };
    watching = &watcher;
    const uint64_t handle = symbols_.add_callback(callback);
    const int64_t result = perform_(deed, round);
    symbols_.remove_callback(handle);
    watching = nullptr;
    return result;
  }

  bool seen(Deed deed, std::string_view name, uint32_t flag) const {
    bool found = false;
    run(deed, 0, {flag}, name, [&](const RecordFunction*) { found = true; });
    return found;
  }

 private:
  const Symbols& symbols_;
  const Learner::Perform& perform_;
  CallbackLayout layout_;
};

}  // namespace

Layout Learner::run() {
  if (!symbols_.known()) return {};
  for (round_ = 0; round_ < kRounds; ++round_) perform_(Deed::kPrepare, round_);
  if (!learn_callback()) return {};
  if (!learn_inputs()) return layout_;
  learn_sequence();
  learn_values();
  learn_lists();
  if (learn_tensors()) learn_dtypes();
  return layout_;
}

// Where the flags are, and which is which: a callback with one flag alone is called for one kind of range.
bool Learner::learn_callback() {
  for (const uint32_t probability : {16u, 24u}) {  // older versions ask a function before they sample
    CallbackLayout& callback = layout_.callback;
    callback = {};
    callback.probability = probability;
    callback.flags = probability + 8;
    const Experiment experiment(symbols_, perform_, callback);
    uint32_t function = kUnknown;
    for (uint32_t flag = 0; flag < kMostFlags; ++flag) {
      if (function == kUnknown && experiment.seen(Deed::kMultiply, "aten::mul", flag)) function = flag;
      if (callback.user_scope == kUnknown && experiment.seen(Deed::kUserRange, kUserRangeName, flag))
        callback.user_scope = flag;
    }
    if (function != kUnknown && callback.user_scope != kUnknown) {
      callback.function = function;
      return true;
    }
  }
  layout_.callback = {};
  return false;
}

// The flag that makes PyTorch hand over the inputs, and where they are: an address of values whose payloads are the
// tensors that were passed, and their number behind it.
bool Learner::learn_inputs() {
  CallbackLayout& callback = layout_.callback;
  const SafeMemory memory;
  const Experiment experiment(symbols_, perform_, callback);
  const auto places_of_inputs = [&](const RecordFunction* record, int round, Agreed<uint32_t>& tag) {
    const auto& facts = facts_[static_cast<std::size_t>(round)];
    const TensorFact *left = fact_of(facts, TensorFact::Role::kLeft),
                     *right = fact_of(facts, TensorFact::Role::kRight);
    std::vector<uint32_t> places;
    if (left == nullptr || right == nullptr) return places;
    const std::vector<std::byte> copy = copy_of(memory, record, kMostRecordBytes);
    for (uint32_t offset = 0; offset + 16 <= copy.size(); offset += 8) {
      if (word_at(copy, offset + 8) != 2) continue;
      const auto values = values_at(memory, word_at(copy, offset), 2);
      if (!values || (*values)[0].payload != address_of(left->impl) ||
          (*values)[1].payload != address_of(right->impl))
        continue;
      places.push_back(offset);
      tag.say((*values)[0].tag);
      tag.say((*values)[1].tag);
    }
    return places;
  };
  for (uint32_t flag = 0; flag < kMostFlags; ++flag) {
    if (flag == callback.function || flag == callback.user_scope) continue;
    Offsets offsets;
    Agreed<uint32_t> tag;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<uint32_t> places;
      experiment.run(Deed::kMultiply, round, {callback.function, flag}, "aten::mul",
                     [&](const RecordFunction* record) { places = places_of_inputs(record, round, tag); });
      offsets.allow(std::move(places));
    }
    if (offsets.first() == kUnknown) continue;
    callback.needs_inputs = flag;
    layout_.inputs = offsets.first();
    layout_.value.tensor = tag.value_or(kUnknown);
    return layout_.value.tensor != kUnknown;
  }
  return false;
}

void Learner::learn_sequence() {
  const SafeMemory memory;
  const Experiment experiment(symbols_, perform_, layout_.callback);
  Offsets offsets;
  std::vector<std::byte> before;
  for (int run = 0; run < 2 * kRounds + 1; ++run) {
    const int round = run % kRounds;
    std::vector<std::byte> copy;
    const int64_t sequence = experiment.run(
        Deed::kMultiply, round, {layout_.callback.function}, "aten::mul",
        [&](const RecordFunction* record) { copy = copy_of(memory, record, kMostRecordBytes); });
    // Where Python does not tell the number, it is what grows with each run by as many as the run takes.
    const auto fits = [&](uint32_t offset) {
      const uint64_t number = word_at(copy, offset);
      return sequence >= 0 ? number == static_cast<uint64_t>(sequence)
                           : offset + 8 <= before.size() &&
                                 number - word_at(before, offset) == sequences_of_multiply(round);
    };
    std::vector<uint32_t> places;
    for (uint32_t offset = 0; offset + 8 <= copy.size(); offset += 8)
      if (fits(offset)) places.push_back(offset);
    if (sequence >= 0 || run > 0) offsets.allow(std::move(places));
    before = std::move(copy);
  }
  layout_.sequence = offsets.first();
}

// The values that one operator of a deed was called with.
std::vector<LearntValue> Learner::inputs_of(Deed deed, int round, std::string_view name) {
  const SafeMemory memory;
  const Experiment experiment(symbols_, perform_, layout_.callback);
  std::vector<LearntValue> inputs;
  experiment.run(
      deed, round, {layout_.callback.function, layout_.callback.needs_inputs}, name,
      [&](const RecordFunction* record) {
        const auto count = member<uint64_t>(record, layout_.inputs + 8);
        const auto values = values_at(memory, member<uint64_t>(record, layout_.inputs),
                                      static_cast<std::size_t>(std::min<uint64_t>(count, 16)));
        if (!values) return;
        inputs.clear();
        for (const Value& value : *values) {
          LearntValue& input = inputs.emplace_back();
          input.payload = value.payload;
          input.tag = value.tag;
          input.pointee = copy_of(memory, reinterpret_cast<const void*>(value.payload), kListBytes);
          // What the words of the pointee point to: a list keeps its values apart.
          for (std::size_t word = 0; word + 8 <= input.pointee.size(); word += 8)
            input.beyond.push_back(copy_of(
                memory, reinterpret_cast<const void*>(word_at(input.pointee, word)), 2 * kValueBytes + 32));
        }
      });
  return inputs;
}

void Learner::learn_values() {
  ValueLayout& value = layout_.value;
  Agreed<uint32_t> integer, real, boolean;
  for (int round = 0; round < kRounds; ++round) {
    const auto add = inputs_of(Deed::kAdd, round, "aten::add");
    if (add.size() == 3 && add[2].payload == static_cast<uint64_t>(3 + round)) integer.say(add[2].tag);
    const auto clamp = inputs_of(Deed::kClamp, round, "aten::clamp");
    if (clamp.size() >= 2 && std::bit_cast<double>(clamp[1].payload) == 0.375 + round) real.say(clamp[1].tag);
    const auto sum = inputs_of(Deed::kSum, round, "aten::sum");
    if (sum.size() >= 3 && (sum[2].payload & 0xff) == (round == 0 ? 1u : 0u)) boolean.say(sum[2].tag);
  }
  value.integer = integer.value_or(kUnknown);
  value.real = real.value_or(kUnknown);
  value.boolean = boolean.value_or(kUnknown);
}

// A list keeps its values in a vector, and behind that what they are.
void Learner::learn_lists() {
  ValueLayout& value = layout_.value;
  const auto places_of = [](const LearntValue& list, std::array<uint64_t, 2> payloads, uint32_t tag) {
    std::vector<uint32_t> places;
    for (uint32_t offset = 0; offset + 32 <= list.pointee.size(); offset += 8) {
      const std::vector<std::byte>& values = list.beyond[offset / 8];
      if (word_at(list.pointee, offset + 8) != word_at(list.pointee, offset) + 2 * kValueBytes) continue;
      if (values.size() < 2 * kValueBytes) continue;
      bool same = true;
      for (std::size_t i = 0; i < 2; ++i)
        same = same && word_at(values, i * kValueBytes) == payloads[i] &&
               member<uint32_t>(values.data(), i * kValueBytes + 8) == tag;
      if (same) places.push_back(offset);
    }
    return places;
  };
  Offsets offsets;
  Agreed<uint32_t> tag;
  Agreed<uint64_t> of_tensors, of_numbers;
  for (int round = 0; round < kRounds; ++round) {
    const auto& facts = facts_[static_cast<std::size_t>(round)];
    const TensorFact *left = fact_of(facts, TensorFact::Role::kLeft),
                     *right = fact_of(facts, TensorFact::Role::kRight);
    const auto sum = inputs_of(Deed::kSum, round, "aten::sum");
    const auto cat = inputs_of(Deed::kConcatenate, round, "aten::cat");
    if (sum.size() < 2 || cat.empty() || left == nullptr || right == nullptr) return;
    offsets.allow(places_of(sum[1], {0, 2}, value.integer));
    offsets.allow(places_of(cat[0], {address_of(left->impl), address_of(right->impl)}, value.tensor));
    if (offsets.first() == kUnknown) return;
    tag.say(sum[1].tag);
    tag.say(cat[0].tag);
    constexpr std::size_t kVectorBytes = 24;
    of_numbers.say(word_at(sum[1].pointee, offsets.first() + kVectorBytes));
    of_tensors.say(word_at(cat[0].pointee, offsets.first() + kVectorBytes));
    value.list_type = offsets.first() + static_cast<uint32_t>(kVectorBytes);
  }
  value.list_items = offsets.first();
  value.list = tag.value_or(kUnknown);
  value.list_of_tensors = of_tensors.value_or(0);
  if (value.list_of_tensors == of_numbers.value_or(0)) value.list_of_tensors = 0;
}

bool Learner::learn_tensors() {
  const SafeMemory memory;
  std::vector<TensorImage> tensors;
  for (const auto& facts : facts_)
    for (const TensorFact& fact : facts) tensors.push_back({&fact, copy_of(memory, fact.impl, kTensorBytes)});
  if (tensors.empty()) return false;
  const auto all = [&](const auto& holds) { return std::ranges::all_of(tensors, holds); };
  TensorLayout& layout = layout_.tensor;
  for (uint32_t sizes = 8; sizes < kTensorBytes && layout.sizes == kUnknown; sizes += 8)
    for (uint32_t inline_dims = 1; inline_dims <= 8; ++inline_dims)
      if (all([&](const TensorImage& t) { return sizes_stand_at(memory, t, sizes, inline_dims); })) {
        layout.sizes = sizes;
        layout.inline_dims = inline_dims;
        break;
      }
  for (uint32_t dims = 8; dims < kTensorBytes && layout.dims == kUnknown; dims += 8)
    if (all([&](const TensorImage& t) { return word_at(t.bytes, dims) == t.fact->sizes.size(); }))
      layout.dims = dims;
  for (uint32_t dtype = 8; dtype < kTensorBytes && layout.dtype == kUnknown; dtype += 2)
    if (all([&](const TensorImage& t) {
          const auto number = old_dtype(t.fact->dtype);
          return !number ||
                 (dtype + 2u <= t.bytes.size() && member<uint16_t>(t.bytes.data(), dtype) == *number);
        }))
      layout.dtype = dtype;
  if (layout.sizes != kUnknown && layout.dims != kUnknown && layout.dtype != kUnknown) return true;
  layout = {};
  return false;
}

void Learner::learn_dtypes() {
  for (const auto& facts : facts_)
    for (const TensorFact& fact : facts) {
      const auto number = member<uint16_t>(fact.impl, layout_.tensor.dtype);
      if (number >= kMostDtypes) continue;
      auto& name = layout_.dtypes[number];
      const std::size_t length = std::min(fact.dtype.size(), name.size() - 1);
      std::memcpy(name.data(), fact.dtype.data(), length);
      name[length] = '\0';
    }
}

}  // namespace hone::observe::torch
