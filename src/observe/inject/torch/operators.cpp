#include "observe/inject/torch/operators.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <pthread.h>

#include "observe/inject/torch/inputs.h"

namespace hone::observe::torch {
namespace {

using trace::segments::Mode;
using trace::segments::RangeKind;

constexpr std::size_t kMostDistinctInputs = 1 << 17;
constexpr std::string_view kRunsNode = "autograd::engine::evaluate_function: ";

// What the process has one of: PyTorch's callbacks know no other context.
struct Recording {
  Layout layout;
  Symbols symbols;
  Host host = {};
  std::mutex mutex;  // of what follows
  bool ready = false;
  Mode mode = Mode::kWaiting;
  uint64_t operators = 0, ranges = 0;  // handles of the callbacks that are in PyTorch's list; 0: none
  std::atomic<void (*)()> look = nullptr;
  int (*add_pending_call)(int (*)(void*), void*) = nullptr;
};

Recording& recording() {
  static Recording* const only = new Recording;  // threads may outlive the destructors of statics
  return *only;
}

// Numbers of inputs by their hashes, for all threads.
class InputNumbers {
 public:
  uint32_t of(uint64_t hash, const Inputs& inputs, const RecordFunction* record) {
    const Host& host = recording().host;
    const std::lock_guard lock(mutex_);
    const auto at = numbers_.find(hash);
    if (at != numbers_.end()) return at->second;
    if (numbers_.size() >= kMostDistinctInputs) {
      if (!full_)
        host.note("PyTorch: more than 131072 different inputs of operators; further ones are not recorded");
      full_ = true;
      return 0;
    }
    const std::string text = inputs.text(record);
    const uint32_t number = host.intern(text.data(), text.size());
    numbers_.emplace(hash, number);
    return number;
  }

  void renew_lock() { new (&mutex_) std::mutex; }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  bool full_ = false;
};

InputNumbers& input_numbers() {
  static InputNumbers* const only = new InputNumbers;
  return *only;
}

// What a thread remembers, so that an operator seen before costs no lock.
class ThreadMemory {
 public:
  struct Name {
    uint32_t number = 0;
    bool runs_node = false;  // the range that PyTorch's engine puts around a node of the backward pass
  };

  Name name(const char* text) {
    NameSlot& slot = names_[reinterpret_cast<uintptr_t>(text) / 16 % names_.size()];
    // The address alone says nothing: names of ranges are strings that come and go.
    if (slot.address == text && slot.text == text) return slot.name;
    const std::string_view view = text;
    NameSlot& by_text = texts_[std::hash<std::string_view>{}(view) % texts_.size()];
    if (by_text.text != view) {
      by_text.text = view;
      by_text.name = {recording().host.intern(view.data(), view.size()), view.starts_with(kRunsNode)};
    }
    slot = {text, by_text.text, by_text.name};
    return slot.name;
  }

  uint32_t inputs(const Inputs& reader, const RecordFunction* record) {
    const uint64_t hash = reader.hash(record);
    if (hash == 0) return 0;
    InputSlot& slot = inputs_[hash % inputs_.size()];
    if (slot.hash != hash) slot = {hash, input_numbers().of(hash, reader, record)};
    return slot.number;
  }

  void begin(const RecordFunction* record, RangeKind kind, Name name, uint32_t inputs, int64_t sequence,
             int64_t start_ns) {
    // The engine's range has the number of the node that it runs, as in torch.profiler's records.
    if (depth_ > 0 && sequence >= 0 && open_[depth_ - 1].name.runs_node && open_[depth_ - 1].sequence < 0)
      open_[depth_ - 1].sequence = sequence;
    if (depth_ == open_.size()) {  // deeper calls are not recorded
      ++too_deep_;
      return;
    }
    open_[depth_++] = {record, start_ns, sequence, kind, name, inputs};
  }

  void end(const RecordFunction* record, int64_t end_ns) {
    std::size_t at = depth_;
    while (at > 0 && open_[at - 1].record != record) --at;
    if (at == 0) {  // it began on another thread, or too deep
      if (too_deep_ > 0) --too_deep_;
      return;
    }
    // What was begun within it and has not ended ends elsewhere: PyTorch calls such ranges asynchronous.
    depth_ = at - 1;
    const Open& open = open_[depth_];
    recording().host.range(static_cast<uint32_t>(open.kind), open.name.number, open.inputs, open.sequence,
                           open.start_ns, end_ns);
  }

 private:
  struct NameSlot {
    const char* address = nullptr;
    std::string text;
    Name name;
  };
  struct InputSlot {
    uint64_t hash = 0;
    uint32_t number = 0;
  };
  struct Open {
    const RecordFunction* record;
    int64_t start_ns;
    int64_t sequence;
    RangeKind kind;
    Name name;
    uint32_t inputs;
  };

  std::array<Open, 512> open_ = {};
  std::size_t depth_ = 0;
  std::size_t too_deep_ = 0;
  std::array<NameSlot, 512> names_;
  std::array<NameSlot, 512> texts_;
  std::array<InputSlot, 2048> inputs_ = {};
};

// A pointer alone, and not of the faster model "initial-exec": where other libraries have used up the room for that, this
// one would not load at all.
thread_local ThreadMemory* memory_of_thread = nullptr;

ThreadMemory& thread_memory() {
  if (memory_of_thread == nullptr) [[unlikely]] {
    static const pthread_key_t key = [] {
      pthread_key_t made = 0;
      pthread_key_create(&made, [](void* memory) {
        memory_of_thread = nullptr;
        delete static_cast<ThreadMemory*>(memory);
      });
      return made;
    }();
    memory_of_thread = new ThreadMemory;
    pthread_setspecific(key, memory_of_thread);
  }
  return *memory_of_thread;
}

void begin_range(const RecordFunction* record, RangeKind kind, bool with_inputs) {
  const Recording& now = recording();
  ThreadMemory& memory = thread_memory();
  const ThreadMemory::Name name = memory.name(now.symbols.name(record));
  const uint32_t inputs = with_inputs ? memory.inputs(Inputs(now.layout), record) : 0;
  const int64_t sequence =
      now.layout.sequence == kUnknown ? -1 : member<int64_t>(record, now.layout.sequence);
  memory.begin(record, kind, name, inputs, sequence,
               now.host.clock());  // what we do is not the operator's time
}

std::unique_ptr<Context> operator_starts(const RecordFunction* record) {
  begin_range(record, RangeKind::kOperator, true);
  return nullptr;
}

std::unique_ptr<Context> bare_operator_starts(const RecordFunction* record) {
  begin_range(record, RangeKind::kOperator, false);
  return nullptr;
}

std::unique_ptr<Context> range_starts(const RecordFunction* record) {
  begin_range(record, RangeKind::kAnnotation, false);
  return nullptr;
}

void range_ends(const RecordFunction* record, Context*) {
  thread_memory().end(record, recording().host.clock());
}

uint64_t add_operators(const Recording& now) {
  const CallbackLayout& layout = now.layout.callback;
  const bool inputs = now.layout.has_inputs();
  Callback callback = make_callback(layout, inputs ? operator_starts : bare_operator_starts, range_ends);
  // Scopes stand before what a callback needs; where that is not known, operators alone.
  const uint32_t end = inputs ? layout.needs_inputs : 0;
  for (uint32_t flag = 0; flag < end; ++flag)
    if (flag != layout.user_scope) set_flag(callback, layout, flag);
  set_flag(callback, layout, layout.function);
  if (inputs) set_flag(callback, layout, layout.needs_inputs);
  return now.symbols.add_callback(callback);
}

uint64_t add_ranges(const Recording& now) {
  Callback callback = make_callback(now.layout.callback, range_starts, range_ends);
  set_flag(callback, now.layout.callback, now.layout.callback.user_scope);
  return now.symbols.add_callback(callback);
}

void keep_or_remove(Recording& now, bool wanted, uint64_t& handle, uint64_t (*add)(const Recording&)) {
  if (wanted && handle == 0) handle = add(now);
  if (!wanted && handle != 0) now.symbols.remove_callback(std::exchange(handle, 0));
}

void apply(Recording& now) {
  if (!now.ready) return;
  const bool operators = now.mode == Mode::kOperators || now.mode == Mode::kStacks;
  keep_or_remove(now, operators || now.mode == Mode::kTimeline, now.ranges, add_ranges);
  keep_or_remove(now, operators, now.operators, add_operators);
}

// In Python's main thread, between two of its instructions.
int look_in_python(void*) {
  if (void (*look)() = recording().look.load()) look();
  return 0;
}

// The locks of another thread stay behind in the parent.
void renew_locks() {
  new (&recording().mutex) std::mutex;
  input_numbers().renew_lock();
}

}  // namespace

void use_layout(const Layout& layout, const Symbols& symbols, const Host& host) {
  Recording& now = recording();
  const std::lock_guard lock(now.mutex);
  if (now.ready || !layout.has_names() || !symbols.known()) return;
  now.layout = layout;
  now.symbols = symbols;
  now.host = host;
  now.ready = true;
  pthread_atfork(nullptr, nullptr, renew_locks);
  apply(now);
}

void follow_mode(Mode mode) {
  Recording& now = recording();
  const std::lock_guard lock(now.mutex);
  if (std::exchange(now.mode, mode) == mode) return;
  apply(now);
  if (now.look.load() != nullptr) now.add_pending_call(look_in_python, nullptr);
}

void tell_of_modes(void (*look)(), int (*add_pending_call)(int (*)(void*), void*)) {
  Recording& now = recording();
  const std::lock_guard lock(now.mutex);
  now.add_pending_call = add_pending_call;
  now.look = add_pending_call == nullptr ? nullptr : look;
}

}  // namespace hone::observe::torch
