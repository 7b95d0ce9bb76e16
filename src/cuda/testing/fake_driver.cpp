// A CUDA driver without a GPU, for tests: libcuda with memory of the host. Kernels of a module that the fake NVRTC made
// run on the host, thread by thread; those of machine code compute nothing. As on a GPU, nothing runs before somebody
// waits, pageable host memory is taken when the call is made, page-locked memory when the command runs. FAKE_DRIVER in
// the environment, read at each call, is a list of faults: "old" (a driver of CUDA 11), "no-device", "full" (no memory
// is left), "lost" (a kernel fails when it runs). With "clock" among them events tell the time of a clock that only
// kernels and launches move: a kernel named "takes_7_us" takes so long, launching one alone 4 µs, a graph 8. With
// "shuffles" commands run while others are given, in any order that streams and events allow, as on a GPU that is now
// faster and now slower than the host: what lacks an event fails. A profiler (fake_cupti.cpp) is told of all that has run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/driver_abi.h"
#include "cuda/testing/fake_driver_calls.h"
#include "cuda/testing/fake_driver_listener.h"
#include <dlfcn.h>
#include <elf.h>
#include <time.h>
#include <unistd.h>

namespace {

using hone::cuda::DeviceAddress;
using hone::cuda::DeviceHandle;
using hone::cuda::DriverCode;
using hone::cuda::HostFunction;
using hone::cuda::kCopyNode;
using hone::cuda::kSetNode;

constexpr size_t kTotalBytes = size_t{80} << 30;

bool fault(std::string_view name) {
  const char* const faults = std::getenv("FAKE_DRIVER");
  return faults != nullptr && std::string_view(faults).find(name) != std::string_view::npos;
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t device_ns = 0;  // of "clock"
constexpr int64_t kLaunchNs = 4'000, kGraphLaunchNs = 8'000;

int64_t event_ns() { return fault("clock") ? device_ns : now_ns(); }
int64_t ns_of_kernel(const std::string& name) {
  int us = 0;
  return std::sscanf(name.c_str(), "takes_%d_us", &us) == 1 ? int64_t{us} * 1000 : 0;
}

struct FakeStream;
struct FakeGraph;

struct Moment {
  FakeStream* stream = nullptr;  // where it is to come; null: passed
  int64_t ns = 0;
};

// What a stream is given, and what of it is a node of a graph.
struct Command {
  std::function<DriverCode()> run;
  int node = kNoNode;  // hone::cuda::GraphNodeType
  std::string name = {};
  uint32_t graph = 0;                         // whose replay it is of
  std::shared_ptr<const Moment> behind = {};  // that it waits for

  static constexpr int kNoNode = -1;
  DriverCode operator()() const;
  bool is_ready() const { return behind == nullptr || behind->stream == nullptr; }
};
FakeDriverListener listener = nullptr;
void shuffle();
struct FakeEvent {
  std::shared_ptr<Moment> moment = std::make_shared<Moment>();
  FakeGraph* capture = nullptr;  // that it was last recorded in
};
struct FakeGraph {
  std::deque<Command> commands;      // whose addresses are handles of nodes
  uint32_t number = 0;               // of an executable one
  std::vector<FakeStream*> streams;  // that take part while it is captured
};
struct FakeStream {
  std::deque<Command> commands;
  FakeGraph* capture = nullptr;  // where commands go while one is captured
  int last = Command::kNoNode;   // what it was given last; nothing behind an event of another stream
  DriverCode failed = DriverCode::kSuccess;  // while nobody waited
  bool behind_kernel() const { return last == hone::cuda::kKernelNode; }
  void give(Command command) {
    last = command.node;
    if (capture != nullptr) {
      capture->commands.push_back(std::move(command));
    } else {
      commands.push_back(std::move(command));
      shuffle();
    }
  }
  // The first command, where nothing holds it back.
  void step() {
    if (commands.empty() || !commands.front().is_ready()) return;
    const Command command = std::move(commands.front());
    commands.pop_front();
    if (const DriverCode code = command(); failed == DriverCode::kSuccess) failed = code;
  }
  DriverCode run(const Moment* until = nullptr) {
    if (failed != DriverCode::kSuccess) return failed;
    while (!commands.empty() && (until == nullptr || until->stream == this)) {
      const Command command = std::move(commands.front());
      commands.pop_front();
      if (const DriverCode code = command(); code != DriverCode::kSuccess) return code;
    }
    return DriverCode::kSuccess;
  }
};

DriverCode Command::operator()() const {
  const int64_t start = event_ns();
  const DriverCode code = run();
  if (node != kNoNode && listener != nullptr && code == DriverCode::kSuccess)
    listener(node, graph, start, event_ns(), name.c_str());
  return code;
}

struct FakeBlock {
  size_t bytes;
  std::unique_ptr<std::byte[]> data;
};
// A library of the fake NVRTC's (fake_nvrtc.cpp); null: machine code, whose kernels do nothing.
using HostModule = std::shared_ptr<void>;
struct FakeFunction {
  std::string name;
  HostModule library;
  void (*launch)(const unsigned* shape, void** parameters) = nullptr;
  std::vector<size_t> sizes;  // of its parameters
};
struct FakeModule {
  HostModule library;
  std::map<std::string, std::unique_ptr<FakeFunction>> functions;
};

// Process-wide, as a driver's state is.
std::recursive_mutex lock;
std::map<uintptr_t, FakeBlock> device_blocks;
std::map<uintptr_t, FakeBlock> pinned_blocks;
int live_handles = 0, contexts = 0;
int64_t blocks_made = 0;  // of the device's and of page-locked memory
int64_t launches = 0, early_launches = 0, graph_launches = 0, graphs_given = 0, graphs_made = 0;
int64_t waits = 0;                 // of the host, for work that was not done yet
std::vector<FakeStream*> streams;  // that are alive
uint64_t dice = 1;                 // of "shuffles"
const FakeStream* resting = nullptr;
bool initialised = false;
thread_local void* current = nullptr;
int the_context = 0;

bool holds(const std::map<uintptr_t, FakeBlock>& blocks, uintptr_t at, size_t bytes) {
  auto after = blocks.upper_bound(at);
  if (after == blocks.begin()) return false;
  const auto& [start, block] = *std::prev(after);
  return at + bytes <= start + block.bytes;
}
bool on_device(DeviceAddress at, size_t bytes) { return holds(device_blocks, at, bytes); }
void* host_of(DeviceAddress at) { return reinterpret_cast<void*>(at); }

// Now none of the commands, now nearly all that were given, of streams in any order; one of them rests for a while, so that
// others get as far ahead as they may.
void shuffle() {
  if (!fault("shuffles")) return;
  const auto roll = [](uint64_t sides) {
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    return (dice >> 33) % sides;
  };
  if (roll(24) == 0) resting = streams[roll(streams.size())];
  for (uint64_t turns = roll(2) * roll(24); turns > 0; --turns)
    if (FakeStream* const stream = streams[roll(streams.size())]; stream != resting) stream->step();
}

// Aligned as the driver's blocks are, filled with what no program expects.
DriverCode allocate(std::map<uintptr_t, FakeBlock>& blocks, uintptr_t* address, size_t bytes) {
  if (bytes == 0) return DriverCode::kInvalidValue;
  if (bytes > kTotalBytes || fault("full") || fault("refuses")) return DriverCode::kOutOfMemory;
  FakeBlock block{bytes, std::make_unique<std::byte[]>(bytes + 512)};
  const uintptr_t at = (reinterpret_cast<uintptr_t>(block.data.get()) + 255) / 256 * 256;
  std::memset(reinterpret_cast<void*>(at), 0xff, bytes);
  blocks.emplace(at, std::move(block));
  ++blocks_made;
  *address = at;
  return DriverCode::kSuccess;
}

template <typename T>
T* made(T* object) {
  ++live_handles;
  return object;
}
template <typename T>
DriverCode destroyed(T* object) {
  if (object == nullptr) return DriverCode::kInvalidValue;
  --live_handles;
  delete object;
  return DriverCode::kSuccess;
}

// `image` as a library of the host, if it is one.
HostModule host_module(const void* image) {
  constexpr char kBegin[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB};
  if (std::memcmp(image, kBegin, sizeof kBegin) != 0) return nullptr;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) return nullptr;
  const size_t bytes =
      header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;  // the headers of sections come last
  // A file of its own: the loader takes one that it knows by name for the same library.
  char name[] = "/tmp/hone-fake-module-XXXXXX";
  const int file = ::mkstemp(name);
  const bool written = file >= 0 && ::write(file, image, bytes) == static_cast<ssize_t>(bytes);
  void* const library = written ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::close(file);
  ::unlink(name);
  if (library == nullptr) return nullptr;
  return {library, [](void* opened) { ::dlclose(opened); }};
}

FakeFunction function_of(const FakeModule& module, const std::string& name) {
  FakeFunction function{.name = name, .library = module.library, .launch = nullptr, .sizes = {}};
  if (function.library == nullptr) return function;
  void* const library = function.library.get();
  function.launch =
      reinterpret_cast<decltype(function.launch)>(::dlsym(library, ("hone_launch_" + name).c_str()));
  auto* const sizes =
      reinterpret_cast<unsigned (*)(size_t*)>(::dlsym(library, ("hone_sizes_" + name).c_str()));
  function.sizes.resize(256);
  function.sizes.resize(sizes != nullptr ? sizes(function.sizes.data()) : 0);
  return function;
}

// A launch, with its parameters as they were when it was given.
std::function<DriverCode()> launch_on_host(const FakeFunction& function, const std::array<unsigned, 6>& shape,
                                           void** given) {
  std::vector<std::vector<std::byte>> taken;
  for (size_t i = 0; i < function.sizes.size(); ++i) {
    const auto* const at = static_cast<const std::byte*>(given[i]);
    taken.emplace_back(at, at + function.sizes[i]);
  }
  return [function, shape, taken = std::move(taken)]() mutable {
    std::vector<void*> parameters;
    for (std::vector<std::byte>& parameter : taken) parameters.push_back(parameter.data());
    function.launch(shape.data(), parameters.data());
    return DriverCode::kSuccess;
  };
}

}  // namespace

// Whose calls are on this thread's stack, so that what the driver itself takes of the heap is told from what its callers do:
// the innermost decides, the driver's or, in a host function, theirs. Read from within malloc, so that its place must not be
// allocated when it is first asked for.
[[gnu::tls_model("initial-exec")]] thread_local int driver_is_at_work = 0;
class AtWork {
 public:
  explicit AtWork(int now) : before_(std::exchange(driver_is_at_work, now)) {}
  ~AtWork() { driver_is_at_work = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  int before_;
};

#define LOCKED             \
  const AtWork at_work(1); \
  const std::lock_guard guard(lock)
#define NEEDS_CONTEXT \
  LOCKED;             \
  if (current == nullptr) return static_cast<DriverCode>(201)

extern "C" {
// What tests ask: handles and blocks that are alive, contexts retained, kernels run.
int fake_driver_live() {
  LOCKED;
  return live_handles + static_cast<int>(device_blocks.size() + pinned_blocks.size());
}
int64_t fake_driver_blocks_made() {
  LOCKED;
  return blocks_made;
}
int fake_driver_is_at_work() { return driver_is_at_work; }
// A command of another fake library's, in the stream's order; `work` is called with its data, then `release`.
void fake_driver_give(void* stream, void (*work)(void*), void* data, void (*release)(void*)) {
  const ToldLaunch told("a_library's_kernel");
  LOCKED;
  if (static_cast<FakeStream*>(stream)->capture == nullptr) told.is_work();
  const std::shared_ptr<void> owned(data, release);
  static_cast<FakeStream*>(stream)->give({[work, owned] { return work(owned.get()), DriverCode::kSuccess; },
                                          hone::cuda::kKernelNode, "a_library's_kernel"});
}
void fake_driver_listen(FakeDriverListener to) {
  LOCKED;
  listener = to;
}
int64_t fake_driver_clock() {
  LOCKED;
  return event_ns();
}
int fake_driver_contexts() {
  LOCKED;
  return contexts;
}
int64_t fake_driver_launches() {
  LOCKED;
  return launches;
}
int64_t fake_driver_early_launches() {
  LOCKED;
  return early_launches;
}
int64_t fake_driver_graph_launches() {
  LOCKED;
  return graph_launches;
}
int64_t fake_driver_graphs_given() {
  LOCKED;
  return graphs_given;
}
int64_t fake_driver_waits() {
  LOCKED;
  return waits;
}
int64_t fake_driver_graphs_made() {
  LOCKED;
  return graphs_made;
}

DriverCode cuInit(unsigned) {
  load_injected_library();
  LOCKED;
  initialised = true;
  return fault("no-device") ? DriverCode::kNoDevice : DriverCode::kSuccess;
}
DriverCode cuDriverGetVersion(int* version) {
  return *version = fault("old") ? 11080 : 13000, DriverCode::kSuccess;
}
DriverCode cuGetErrorName(DriverCode code, const char** name) {
  *name = code == DriverCode::kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == DriverCode::kNoDevice     ? "CUDA_ERROR_NO_DEVICE"
          : code == DriverCode::kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
                                              : "CUDA_ERROR_OTHER";
  return DriverCode::kSuccess;
}
DriverCode cuGetErrorString(DriverCode, const char** words) {
  return *words = "as the fake driver says", DriverCode::kSuccess;
}
DriverCode cuDeviceGetCount(int* count) {
  return *count = 1, initialised ? DriverCode::kSuccess : DriverCode::kNotInitialized;
}
DriverCode cuDeviceGet(DeviceHandle* device, int index) { return *device = index, DriverCode::kSuccess; }
DriverCode cuDeviceGetName(char* name, int bytes, DeviceHandle) {
  return std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU"), DriverCode::kSuccess;
}
DriverCode cuDeviceGetAttribute(int* value, int attribute, DeviceHandle) {
  *value = attribute == hone::cuda::kMultiprocessors            ? 132
           : attribute == hone::cuda::kComputeCapabilityMajor   ? 9
           : attribute == hone::cuda::kWarpSize                 ? 32
           : attribute == hone::cuda::kL2Bytes                  ? 1 << 20
           : attribute == hone::cuda::kSharedBytesPerBlockOptin ? 232448
                                                                : 0;
  return DriverCode::kSuccess;
}
DriverCode cuDeviceGetPCIBusId(char* text, int bytes, DeviceHandle) {
  return std::snprintf(text, static_cast<size_t>(bytes), "0000:00:00.0"), DriverCode::kSuccess;
}
DriverCode cuDeviceTotalMem_v2(size_t* bytes, DeviceHandle) {
  return *bytes = kTotalBytes, DriverCode::kSuccess;
}
DriverCode cuDevicePrimaryCtxRetain(void** context, DeviceHandle) {
  LOCKED;
  ++contexts;
  *context = &the_context;
  return DriverCode::kSuccess;
}
DriverCode cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  LOCKED;
  --contexts;
  return DriverCode::kSuccess;
}
DriverCode cuCtxGetCurrent(void** context) { return *context = current, DriverCode::kSuccess; }
DriverCode cuCtxSetCurrent(void* context) { return current = context, DriverCode::kSuccess; }

// What the recorder asks in the middle of a launch.
DriverCode cuCtxGetDevice(DeviceHandle* device) { return *device = 0, DriverCode::kSuccess; }
DriverCode cuStreamIsCapturing(FakeStream* stream, int* status) {
  LOCKED;
  return *status = stream != nullptr && stream->capture != nullptr ? 1 : 0, DriverCode::kSuccess;
}

DriverCode cuMemGetInfo_v2(size_t* free, size_t* total) {
  NEEDS_CONTEXT;
  *free = fault("full") ? 0 : kTotalBytes / 4, *total = kTotalBytes;
  return DriverCode::kSuccess;
}
DriverCode cuMemAlloc_v2(DeviceAddress* address, size_t bytes) {
  NEEDS_CONTEXT;
  uintptr_t at = 0;
  const DriverCode code = allocate(device_blocks, &at, bytes);
  *address = at;
  return code;
}
DriverCode cuMemFree_v2(DeviceAddress address) {
  NEEDS_CONTEXT;
  return device_blocks.erase(address) == 1 ? DriverCode::kSuccess : DriverCode::kInvalidValue;
}
DriverCode cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  NEEDS_CONTEXT;
  return allocate(pinned_blocks, reinterpret_cast<uintptr_t*>(address), bytes);
}
DriverCode cuMemFreeHost(void* address) {
  NEEDS_CONTEXT;
  return pinned_blocks.erase(reinterpret_cast<uintptr_t>(address)) == 1 ? DriverCode::kSuccess
                                                                        : DriverCode::kInvalidValue;
}

DriverCode cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, size_t bytes, FakeStream* stream) {
  NEEDS_CONTEXT;
  if (!on_device(to, bytes) || on_device(reinterpret_cast<uintptr_t>(from), bytes))
    return DriverCode::kInvalidValue;
  if (holds(pinned_blocks, reinterpret_cast<uintptr_t>(from), bytes)) {
    stream->give({[=] { return std::memcpy(host_of(to), from, bytes), DriverCode::kSuccess; }, kCopyNode});
    return DriverCode::kSuccess;
  }
  const auto* const begin = static_cast<const std::byte*>(from);
  stream->give({[to, taken = std::vector<std::byte>(begin, begin + bytes)] {
                  return std::memcpy(host_of(to), taken.data(), taken.size()), DriverCode::kSuccess;
                },
                kCopyNode});
  return DriverCode::kSuccess;
}
DriverCode cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, size_t bytes, FakeStream* stream) {
  NEEDS_CONTEXT;
  if (!on_device(from, bytes) || on_device(reinterpret_cast<uintptr_t>(to), bytes))
    return DriverCode::kInvalidValue;
  stream->give({[=] { return std::memcpy(to, host_of(from), bytes), DriverCode::kSuccess; }, kCopyNode});
  return DriverCode::kSuccess;
}
DriverCode cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, size_t bytes, FakeStream* stream) {
  NEEDS_CONTEXT;
  if (!on_device(to, bytes) || !on_device(from, bytes)) return DriverCode::kInvalidValue;
  stream->give(
      {[=] { return std::memmove(host_of(to), host_of(from), bytes), DriverCode::kSuccess; }, kCopyNode});
  return DriverCode::kSuccess;
}
DriverCode cuMemsetD8Async(DeviceAddress to, unsigned char value, size_t bytes, FakeStream* stream) {
  NEEDS_CONTEXT;
  if (!on_device(to, bytes)) return DriverCode::kInvalidValue;
  stream->give({[=] { return std::memset(host_of(to), value, bytes), DriverCode::kSuccess; }, kSetNode});
  return DriverCode::kSuccess;
}

DriverCode cuStreamCreate(FakeStream** stream, unsigned) {
  NEEDS_CONTEXT;
  *stream = made(new FakeStream);
  streams.push_back(*stream);
  return DriverCode::kSuccess;
}
DriverCode cuStreamDestroy_v2(FakeStream* stream) {
  NEEDS_CONTEXT;
  (void)stream->run();
  std::erase(streams, stream);
  return destroyed(stream);
}
DriverCode cuStreamSynchronize(FakeStream* stream) {
  NEEDS_CONTEXT;
  if (stream->capture != nullptr) return DriverCode::kStreamCaptureUnsupported;
  if (!stream->commands.empty()) ++waits;
  return stream->run();
}
DriverCode cuStreamWaitEvent(FakeStream* stream, FakeEvent* event, unsigned) {
  NEEDS_CONTEXT;
  if (event->capture !=
      nullptr) {  // the stream joins the capture, whose commands stay in the order of the calls
    if (stream->capture == nullptr) event->capture->streams.push_back(stream);
    stream->capture = event->capture;
    return DriverCode::kSuccess;
  }
  Command command{[moment = event->moment] {
    return moment->stream == nullptr ? DriverCode::kSuccess : moment->stream->run(moment.get());
  }};
  command.behind = event->moment;
  stream->give(std::move(command));
  return DriverCode::kSuccess;
}
DriverCode cuLaunchHostFunc(FakeStream* stream, HostFunction function, void* data) {
  NEEDS_CONTEXT;
  stream->give({[=] {
                  const AtWork of_callers(0);
                  return function(data), DriverCode::kSuccess;
                },
                hone::cuda::kHostNode});
  return DriverCode::kSuccess;
}
DriverCode cuEventCreate(FakeEvent** event, unsigned) {
  NEEDS_CONTEXT;
  *event = made(new FakeEvent);
  return DriverCode::kSuccess;
}
DriverCode cuEventDestroy_v2(FakeEvent* event) {
  NEEDS_CONTEXT;
  return destroyed(event);
}
DriverCode cuEventRecord(FakeEvent* event, FakeStream* stream) {
  NEEDS_CONTEXT;
  event->capture = stream->capture;
  if (stream->capture != nullptr) return DriverCode::kSuccess;
  event->moment = std::make_shared<Moment>();
  event->moment->stream = stream;
  stream->give({[moment = event->moment] {
    return moment->ns = event_ns(), moment->stream = nullptr, DriverCode::kSuccess;
  }});
  return DriverCode::kSuccess;
}
DriverCode cuEventSynchronize(FakeEvent* event) {
  NEEDS_CONTEXT;
  const auto moment = event->moment;
  if (moment->stream != nullptr) ++waits;
  return moment->stream == nullptr ? DriverCode::kSuccess : moment->stream->run(moment.get());
}
DriverCode cuEventElapsedTime(float* ms, FakeEvent* from, FakeEvent* to) {
  NEEDS_CONTEXT;
  if (from->moment->stream != nullptr || to->moment->stream != nullptr) return DriverCode::kNotReady;
  *ms = static_cast<float>(to->moment->ns - from->moment->ns) * 1e-6F;
  return DriverCode::kSuccess;
}

DriverCode cuModuleLoadData(FakeModule** module, const void* image) {
  NEEDS_CONTEXT;
  if (std::memcmp(image, "\177ELF", 4) != 0 && std::memcmp(image, "//", 2) != 0)
    return DriverCode::kInvalidImage;
  *module = made(new FakeModule{.library = host_module(image), .functions = {}});
  return DriverCode::kSuccess;
}
DriverCode cuModuleUnload(FakeModule* module) {
  NEEDS_CONTEXT;
  return destroyed(module);
}
DriverCode cuModuleGetFunction(void** function, FakeModule* module, const char* name) {
  NEEDS_CONTEXT;
  auto& known = module->functions[name];
  if (known == nullptr) known = std::make_unique<FakeFunction>(function_of(*module, name));
  if (known->library != nullptr && known->launch == nullptr)
    return static_cast<DriverCode>(500);  // not found
  *function = known.get();
  return DriverCode::kSuccess;
}
DriverCode cuFuncGetAttribute(int* value, int, void*) { return *value = 0, DriverCode::kSuccess; }
DriverCode cuFuncSetAttribute(void*, int, int) { return DriverCode::kSuccess; }
DriverCode cuLaunchKernelEx(const hone::cuda::LaunchConfig* config, FakeFunction* function, void** parameters,
                            void**) {
  const ToldLaunch told(function != nullptr ? function->name.c_str() : nullptr);
  NEEDS_CONTEXT;
  const auto [gx, gy, gz] = config->grid;
  const auto [bx, by, bz] = config->block;
  auto* const stream = reinterpret_cast<FakeStream*>(config->stream);
  if (config->attribute_count > 0) {
    if (!stream->behind_kernel()) return DriverCode::kInvalidValue;
    ++early_launches;
  }
  if (function == nullptr || gx == 0 || gy == 0 || gz == 0 || gx > 0x7fffffff || bx * by * bz == 0 ||
      bx * by * bz > 1024 || gy > 65535 || gz > 65535)
    return DriverCode::kInvalidValue;
  const int64_t ns = ns_of_kernel(function->name) + (stream->capture == nullptr ? kLaunchNs : 0);
  std::function<DriverCode()> compute;
  if (function->launch != nullptr) compute = launch_on_host(*function, {gx, gy, gz, bx, by, bz}, parameters);
  stream->give({[ns, compute = std::move(compute)] {
                  device_ns += ns;
                  ++launches;
                  if (fault("lost")) return DriverCode::kLaunchFailed;
                  return compute ? compute() : DriverCode::kSuccess;
                },
                hone::cuda::kKernelNode, function->name});
  if (stream->capture == nullptr) told.is_work();
  return DriverCode::kSuccess;
}

DriverCode cuStreamBeginCapture_v2(FakeStream* stream, int) {
  NEEDS_CONTEXT;
  stream->capture = made(new FakeGraph);
  stream->last = Command::kNoNode;
  stream->capture->streams.push_back(stream);
  return DriverCode::kSuccess;
}
DriverCode cuStreamEndCapture(FakeStream* stream, FakeGraph** graph) {
  NEEDS_CONTEXT;
  *graph = stream->capture;
  for (FakeStream* const part : (*graph)->streams) part->capture = nullptr;
  return DriverCode::kSuccess;
}
DriverCode cuStreamGetCaptureInfo_v2(FakeStream* stream, int* status, uint64_t* id, FakeGraph** graph,
                                     const Command***, size_t*) {
  NEEDS_CONTEXT;
  *status = stream->capture != nullptr ? 1 : 0;
  if (id != nullptr) *id = 1;
  if (graph != nullptr) *graph = stream->capture;
  return DriverCode::kSuccess;
}
DriverCode cuGraphGetNodes(FakeGraph* graph, const Command** nodes, size_t* count) {
  NEEDS_CONTEXT;
  if (nodes == nullptr) return *count = graph->commands.size(), DriverCode::kSuccess;
  *count = std::min(*count, graph->commands.size());
  for (size_t i = 0; i < *count; ++i) nodes[i] = &graph->commands[i];
  std::reverse(nodes, nodes + *count);  // in no order that the documentation promises
  return DriverCode::kSuccess;
}
DriverCode cuGraphNodeGetType(const Command* node, int* type) {
  return *type = node->node, DriverCode::kSuccess;
}
DriverCode cuGraphInstantiateWithFlags(FakeGraph** executable, FakeGraph* graph, unsigned long long) {
  NEEDS_CONTEXT;
  *executable = made(new FakeGraph(*graph));
  (*executable)->number = static_cast<uint32_t>(++graphs_made);
  for (Command& command : (*executable)->commands) command.graph = (*executable)->number;
  return DriverCode::kSuccess;
}
DriverCode cuGraphLaunch(FakeGraph* executable, FakeStream* stream) {
  NEEDS_CONTEXT;
  ++graphs_given;
  stream->give({[] { return ++graph_launches, device_ns += kGraphLaunchNs, DriverCode::kSuccess; }});
  for (const Command& command : executable->commands) stream->give(command);
  return DriverCode::kSuccess;
}
DriverCode cuGraphExecDestroy(FakeGraph* graph) {
  NEEDS_CONTEXT;
  return destroyed(graph);
}
DriverCode cuGraphDestroy(FakeGraph* graph) {
  NEEDS_CONTEXT;
  return destroyed(graph);
}
}
