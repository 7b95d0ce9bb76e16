// NVTX ranges of the program as Range records (kNvtx): pushed and popped, started and ended, and marks as ranges
// without length; and as moments that may come once a step. Each library that includes NVTX's header calls InitializeInjectionNvtx2 once for its own copy.
#include <cwchar>
#include <string_view>

#include "observe/inject/host_api.h"
#include "observe/inject/nvtx_abi.h"
#include "observe/inject/recorder.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
namespace {

constexpr auto kNvtxRange = static_cast<uint32_t>(segments::RangeKind::kNvtx);

// UTF-8 of a program's wide text, cut at the length of the buffer.
uint32_t id_of_wide(const wchar_t* text) {
  char utf8[1024];
  size_t length = 0;
  for (; text && *text && length + 4 < sizeof(utf8); ++text) {
    const auto code = static_cast<uint32_t>(*text);
    const auto continued = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      utf8[length++] = static_cast<char>(code);
    } else if (code < 0x800) {
      utf8[length++] = static_cast<char>(0xc0 | code >> 6);
      utf8[length++] = continued(0);
    } else if (code < 0x10000) {
      utf8[length++] = static_cast<char>(0xe0 | code >> 12);
      utf8[length++] = continued(6);
      utf8[length++] = continued(0);
    } else {
      utf8[length++] = static_cast<char>(0xf0 | (code >> 18 & 7));
      utf8[length++] = continued(12);
      utf8[length++] = continued(6);
      utf8[length++] = continued(0);
    }
  }
  return hone_intern_bytes(utf8, length);
}

// Handles that we gave out for registered strings are their numbers.
uint32_t id_of(const nvtx::EventAttributes* event) {
  if (!event || !event->message) return segments::kNoName;
  switch (event->message_type) {
    case nvtx::kAscii:
      return hone_intern(static_cast<const char*>(event->message));
    case nvtx::kWide:
      return id_of_wide(static_cast<const wchar_t*>(event->message));
    case nvtx::kRegistered:
      return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(event->message));
    default:
      return segments::kNoName;
  }
}

bool nvtx_is_recorded() {
  const Recorder* recorder = this_process();
  return recorder && is_recorded(recorder->mode());
}

// Ranges of this thread that were pushed and not popped. Those pushed while nothing is recorded have token 0.
struct Pushed {
  static constexpr int kMost = 128;
  int depth;
  uint64_t tokens[kMost];
};
__thread Pushed t_pushed = {};

// What programs put around their steps lies outermost, or within a range around all of them.
constexpr int kMarkedLevels = 2;

// "batch 17" and "batch 18" are one kind of moment: digits are left out.
uint32_t id_without_digits(const char* text) {
  char kept[256];
  size_t length = 0;
  for (; text && *text && length < sizeof(kept); ++text) {
    const bool digit = *text >= '0' && *text <= '9';
    if (!digit)
      kept[length++] = *text;
    else if (length == 0 || kept[length - 1] != '#')
      kept[length++] = '#';
  }
  return hone_intern_bytes(kept, length);
}

// A range that begins may come once a step: all that is known of steps that are left alone in programs without other
// marks. `text` is null of a name that the program registered or that is wide: such names are the same in each step.
void mark_begin(int level, uint32_t name, const char* text) {
  Recorder* recorder = this_process();
  if (level >= kMarkedLevels || !recorder || !recorder->recording()) return;
  recorder->mark(segments::MarkKind::kRange, text ? id_without_digits(text) : name, 0);
}

const char* text_of(const nvtx::EventAttributes* event) {
  return event && event->message && event->message_type == nvtx::kAscii
             ? static_cast<const char*>(event->message)
             : nullptr;
}

int push(uint32_t name, const char* text = nullptr) {
  Pushed& pushed = t_pushed;
  const int level = pushed.depth++;
  mark_begin(level, name, text);
  if (level < Pushed::kMost) {
    pushed.tokens[level] = nvtx_is_recorded() ? hone_range_begin(kNvtxRange, name, segments::kNoName, -1) : 0;
  }
  return level;
}

int pop() {
  Pushed& pushed = t_pushed;
  if (pushed.depth == 0) return -1;
  const int level = --pushed.depth;
  if (level < Pushed::kMost) hone_range_end(pushed.tokens[level]);
  return level;
}

void mark(uint32_t name) {
  if (!nvtx_is_recorded()) return;
  const int64_t now = hone_clock();
  hone_range(kNvtxRange, name, segments::kNoName, -1, now, now);
}

// Ranges that may end on another thread than they began on. The identifier finds the slot again.
struct StartedRanges {
  struct Started {
    uint64_t id;
    int64_t start_ns;
    uint32_t name;
  };
  static constexpr uint64_t kMost = 4096;
  Lock lock;
  uint64_t count = 0;
  Started started[kMost] = {};
};
StartedRanges started_ranges;

uint64_t start(uint32_t name, const char* text = nullptr) {
  mark_begin(0, name, text);
  if (!nvtx_is_recorded()) return 0;
  Locked locked(started_ranges.lock);
  const uint64_t id = ++started_ranges.count;
  started_ranges.started[id % StartedRanges::kMost] = {id, hone_clock(), name};
  return id;
}

void end(uint64_t id) {
  if (id == 0) return;
  StartedRanges::Started range;
  {
    Locked locked(started_ranges.lock);
    auto& slot = started_ranges.started[id % StartedRanges::kMost];
    range = slot;
    slot.id = 0;
  }
  if (range.id == id) hone_range(kNvtxRange, range.name, segments::kNoName, -1, range.start_ns, hone_clock());
}

void mark_ex(const nvtx::EventAttributes* event) { mark(id_of(event)); }
void mark_a(const char* text) { mark(hone_intern(text)); }
void mark_w(const wchar_t* text) { mark(id_of_wide(text)); }
uint64_t start_ex(const nvtx::EventAttributes* event) { return start(id_of(event), text_of(event)); }
uint64_t start_a(const char* text) { return start(hone_intern(text), text); }
uint64_t start_w(const wchar_t* text) { return start(id_of_wide(text)); }
int push_ex(const nvtx::EventAttributes* event) { return push(id_of(event), text_of(event)); }
int push_a(const char* text) { return push(hone_intern(text), text); }
int push_w(const wchar_t* text) { return push(id_of_wide(text)); }

void domain_mark_ex(void*, const nvtx::EventAttributes* event) { mark(id_of(event)); }
uint64_t domain_start_ex(void*, const nvtx::EventAttributes* event) {
  return start(id_of(event), text_of(event));
}
void domain_end(void*, uint64_t id) { end(id); }
int domain_push_ex(void*, const nvtx::EventAttributes* event) { return push(id_of(event), text_of(event)); }
int domain_pop(void*) { return pop(); }
void* register_a(void*, const char* text) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(hone_intern(text)));
}
void* register_w(void*, const wchar_t* text) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(id_of_wide(text)));
}
// A domain is its name's number; nothing is done by domain.
void* create_domain_a(const char* text) { return register_a(nullptr, text); }
void* create_domain_w(const wchar_t* text) { return register_w(nullptr, text); }

class NvtxTable {
 public:
  NvtxTable(const nvtx::Callbacks& callbacks, int module) {
    if (!callbacks.module_table(module, &table_, &entries_)) table_ = nullptr;
  }
  template <typename Function>
  void set(unsigned entry, Function* function) {
    if (table_ && entry < entries_ && table_[entry])
      *table_[entry] = reinterpret_cast<nvtx::Function>(function);
  }

 private:
  nvtx::Function** table_ = nullptr;
  unsigned entries_ = 0;
};

void hand_over_functions(const nvtx::Callbacks& callbacks) {
  NvtxTable core(callbacks, nvtx::kCore);
  core.set(nvtx::kMarkEx, mark_ex);
  core.set(nvtx::kMarkA, mark_a);
  core.set(nvtx::kMarkW, mark_w);
  core.set(nvtx::kRangeStartEx, start_ex);
  core.set(nvtx::kRangeStartA, start_a);
  core.set(nvtx::kRangeStartW, start_w);
  core.set(nvtx::kRangeEnd, end);
  core.set(nvtx::kRangePushEx, push_ex);
  core.set(nvtx::kRangePushA, push_a);
  core.set(nvtx::kRangePushW, push_w);
  core.set(nvtx::kRangePop, pop);
  NvtxTable domains(callbacks, nvtx::kDomains);
  domains.set(nvtx::kDomainMarkEx, domain_mark_ex);
  domains.set(nvtx::kDomainRangeStartEx, domain_start_ex);
  domains.set(nvtx::kDomainRangeEnd, domain_end);
  domains.set(nvtx::kDomainRangePushEx, domain_push_ex);
  domains.set(nvtx::kDomainRangePop, domain_pop);
  domains.set(nvtx::kDomainRegisterStringA, register_a);
  domains.set(nvtx::kDomainRegisterStringW, register_w);
  domains.set(nvtx::kDomainCreateA, create_domain_a);
  domains.set(nvtx::kDomainCreateW, create_domain_w);
}

}  // namespace
}  // namespace hone::observe::inject

// Called by NVTX's header at the first use of NVTX. 0: not wanted, the program goes on without a tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    hone::observe::inject::nvtx::ExportTable export_table) {
  namespace inject = hone::observe::inject;
  if (!inject::this_process() || !export_table) return 0;
  const auto* callbacks =
      static_cast<const inject::nvtx::Callbacks*>(export_table(inject::nvtx::kCallbacksTable));
  if (!callbacks || callbacks->bytes < sizeof(inject::nvtx::Callbacks)) return 0;
  inject::hand_over_functions(*callbacks);
  return 1;
}
