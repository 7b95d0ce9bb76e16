#include "lab/ceilings/gpu/gpu_ceilings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/clock.h"
#include "lab/ceilings/gpu/gpu_probe.h"
#include "lab/ceilings/gpu/roof_kernels.h"

namespace hone::lab {
namespace {

using runtime::CudaQueue;
using runtime::Memory;

struct MatrixType {
  const char* name;
  DType dtype;
  bool tf32 = false;
  std::size_t result_bytes;  // of an element
};
constexpr std::array kMatrixTypes = {
    MatrixType{"f32", DType::kF32, false, 4}, MatrixType{"tf32", DType::kF32, true, 4},
    MatrixType{"f16", DType::kF16, false, 2}, MatrixType{"bf16", DType::kBF16, false, 2},
    MatrixType{"i8", DType::kI8, false, 4},   MatrixType{"f8e4m3fn", DType::kF8E4M3FN, false, 2}};
constexpr int kGuessesTried = 8;
constexpr std::size_t kRoofWorkspace = std::size_t{128} << 20;

// Random numbers of about 1, as bytes: zeros and repetitions take less power, and run at higher clocks.
std::vector<std::byte> random_bytes(DType dtype, std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto width = static_cast<std::size_t>(dtype_bits(dtype)) / 8;
  std::vector<std::byte> bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    const float x = normal(random);
    uint32_t bits = 0;
    switch (dtype) {
      case DType::kF16:
        bits = f32_to_f16(x);
        break;
      case DType::kBF16:
        bits = f32_to_bf16(x);
        break;
      case DType::kI8:
        bits = static_cast<uint32_t>(random() & 0xff);
        break;
      case DType::kF8E4M3FN:  // signs and mantissas at random, exponents of 1/8 to 2
        bits = static_cast<uint32_t>((random() & 0x87) | (4 + random() % 5) << 3);
        break;
      default:
        std::memcpy(&bits, &x, sizeof x);
    }
    std::memcpy(&bytes[i * width], &bits, width);
  }
  return bytes;
}

class GpuMeasurement {
 public:
  GpuMeasurement(const GpuTools& tools, const GpuCeilingsOptions& options, GpuProbe& probe)
      : tools_(tools), options_(options), sizes_(options.sizes), probe_(probe) {}

  Result<GpuCeilings> run() {
    const int64_t begun = now_ns();
    const cuda::Context& context = *tools_.device->context();
    result_.device = context.name();
    result_.driver = cuda::cuda_version_text(context.driver().version());
    result_.architecture = context.architecture().number;
    result_.multiprocessors = context.multiprocessors();
    result_.cublaslt = tools_.products->version();
    result_.nvrtc = tools_.cache->compiler_version();
    result_.quick = options_.quick;
    if (!probe_.watch().note().empty()) result_.notes.push_back(probe_.watch().note());
    HONE_CHECK(load_kernels());
    for (std::size_t i = 0; i < kMatrixTypes.size(); ++i) {
      HONE_CHECK(say(0.1 * static_cast<double>(i), fmt::format("products of {}", kMatrixTypes[i].name)));
      HONE_CHECK(
          left_out(fmt::format("products of {}", kMatrixTypes[i].name), measure_matrix(kMatrixTypes[i])));
    }
    HONE_CHECK(say(0.6, "arithmetic"));
    HONE_CHECK(measure_arithmetic());
    HONE_CHECK(say(0.7, "memory"));
    HONE_CHECK(measure_memory());
    HONE_CHECK(say(0.8, "links to the host"));
    HONE_CHECK(left_out("links to the host", measure_links()));
    HONE_CHECK(say(0.9, "launches"));
    HONE_CHECK(measure_launches());
    result_.seconds = static_cast<double>(now_ns() - begun) * 1e-9;
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    result_.measured_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
    return std::move(result_);
  }

 private:
  Status say(double fraction, const std::string& what) const {
    if (!options_.progress || options_.progress(fraction, what)) return {};
    return Error{ErrorCode::kCancelled, "measuring roofs: interrupted"};
  }
  // What this GPU or these libraries cannot do, and what finds no memory, is left out and said.
  Status left_out(const std::string& what, const Status& status) {
    if (status.ok() || status.error().code == ErrorCode::kCancelled) return status;
    result_.not_measured.push_back({what, status.error().message});
    return {};
  }

  Status load_kernels() {
    HONE_ASSIGN(const auto compiled, tools_.cache->get(roof_kernels()));
    HONE_ASSIGN(module_, cuda::load_module(tools_.device->context(), compiled->image));
    return {};
  }
  // A kernel's launch, with its arguments copied now.
  template <typename... Arguments>
  Result<GpuWork> kernel(const char* entry, unsigned blocks, Arguments... arguments) {
    HONE_ASSIGN(const cuda::FunctionHandle function, cuda::find_function(module_, entry));
    cuda::LaunchShape shape;
    shape.grid[0] = blocks;
    shape.block[0] = kRoofBlock;
    return GpuWork([=](CudaQueue& queue) mutable {
      std::array<void*, sizeof...(Arguments) + 1> parameters = {&arguments..., nullptr};
      return queue.launch(function, shape, std::span(parameters).first(sizeof...(Arguments)), entry);
    });
  }
  unsigned blocks_everywhere(unsigned each) const {
    return static_cast<unsigned>(result_.multiprocessors) * each;
  }

  // A block of the device's full of random numbers: some from the host, then copies of those.
  Result<Memory> random_matrix(DType dtype, int64_t elements) {
    const std::vector<std::byte> some =
        random_bytes(dtype, static_cast<std::size_t>(std::min<int64_t>(elements, 1 << 20)));
    const std::size_t bytes = static_cast<std::size_t>(elements * dtype_bits(dtype) / 8);
    HONE_ASSIGN(Memory block, tools_.device->allocate(bytes));
    HONE_CHECK(probe_.queue().copy_in(block.address(), some.data(), std::min(bytes, some.size())));
    for (std::size_t done = some.size(); done < bytes; done *= 2)
      HONE_CHECK(probe_.queue().copy(block.address() + done, block.address(), std::min(done, bytes - done)));
    HONE_CHECK(probe_.queue().wait());
    return block;
  }

  Status measure_matrix(const MatrixType& type) {
    const int64_t n = sizes_.matrix;
    cuda::ProductDesc desc{.dtype = type.dtype, .tf32 = type.tf32, .rows = n, .columns = n, .depth = n};
    desc.transpose_b = true;  // the one form that all types have
    HONE_ASSIGN(const std::unique_ptr<cuda::Product> product, cuda::Product::make(tools_.products, desc));
    HONE_ASSIGN(const std::vector<cuda::ProductAlgorithm> guesses,
                product->algorithms(kGuessesTried, kRoofWorkspace));
    if (guesses.empty()) return unsupported("cuBLASLt has no such product on this GPU");
    HONE_ASSIGN(const Memory a, random_matrix(type.dtype, n * n));
    HONE_ASSIGN(const Memory b, random_matrix(type.dtype, n * n));
    HONE_ASSIGN(const Memory d, tools_.device->allocate(static_cast<std::size_t>(n * n) * type.result_bytes));
    std::size_t most = 1;
    for (const cuda::ProductAlgorithm& guess : guesses) most = std::max(most, guess.workspace_bytes);
    HONE_ASSIGN(const Memory workspace, tools_.device->allocate(most));
    const cuda::ProductOperands operands{
        .a = a.address(), .b = b.address(), .d = d.address(), .workspace = workspace.address()};
    const auto work = [&](const cuda::ProductAlgorithm& guess) {
      return GpuWork([&product, &operands, &guess](CudaQueue& queue) {
        return product->run(guess, operands, queue.stream());
      });
    };
    const cuda::ProductAlgorithm* fastest = nullptr;
    double shortest = 0;
    for (const cuda::ProductAlgorithm& guess : guesses) {
      const auto seconds = probe_.once(work(guess));
      if (!seconds.ok() || (fastest != nullptr && *seconds >= shortest)) continue;
      fastest = &guess;
      shortest = *seconds;
    }
    if (fastest == nullptr) return unsupported("none of cuBLASLt's algorithms for it runs");
    const double flops = 2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    HONE_ASSIGN(const GpuTimes burst, probe_.in_bursts(work(*fastest), sizes_.burst_rest_s));
    const double seconds = options_.quick ? sizes_.sustained_s / 4 : sizes_.sustained_s;
    HONE_ASSIGN(const GpuTimes sustained, probe_.without_rest(work(*fastest), seconds));
    result_.matrix.push_back(
        {type.name, n, rate_of(burst, flops), rate_of(sustained, flops), burst.state, sustained.state});
    return {};
  }

  Status measure_arithmetic() {
    HONE_ASSIGN(const Memory out, tools_.device->allocate(16));
    const unsigned blocks = blocks_everywhere(16);
    auto* const to = reinterpret_cast<float*>(out.address());
    HONE_ASSIGN(const GpuWork work, kernel("roof_fma", blocks, to, 0.999F, 0.001F, sizes_.rounds));
    HONE_ASSIGN(const GpuTimes times, probe_.in_bursts(work, 0));
    result_.vector_f32 =
        rate_of(times, 2.0 * kRoofFmaOfThread * sizes_.rounds * kRoofBlock * static_cast<double>(blocks));
    result_.vector_state = times.state;
    return {};
  }

  Status add_memory(const char* level, const char* operation, double capacity, double bytes,
                    const Result<GpuWork>& work) {
    HONE_CHECK(work);
    HONE_ASSIGN(const GpuTimes times, probe_.in_bursts(*work, 0));
    result_.memory.push_back({level, operation, 1, capacity, rate_of(times, bytes)});
    return {};
  }

  Status measure_memory() {
    const unsigned blocks = blocks_everywhere(16);
    const auto count = static_cast<long long>(sizes_.memory_bytes / 16);
    const auto bytes = static_cast<double>(count * 16);
    HONE_ASSIGN(const Memory from, random_matrix(DType::kF32, count * 4));
    HONE_ASSIGN(const Memory to, tools_.device->allocate(sizes_.memory_bytes));
    void* const source = from.address();
    void* const target = to.address();
    HONE_CHECK(add_memory("DRAM", "copy", 0, 2 * bytes, kernel("roof_copy", blocks, source, target, count)));
    HONE_CHECK(add_memory("DRAM", "read", 0, bytes, kernel("roof_read", blocks, source, target, count, 1)));
    HONE_CHECK(add_memory("DRAM", "write", 0, bytes, kernel("roof_write", blocks, target, count)));
    // A third of the cache, again and again: what else is in it does not push it out.
    const std::size_t cache = tools_.device->cache_bytes();
    if (cache < 4096) {
      result_.not_measured.push_back({"L2", "the driver does not say how large it is"});
    } else {
      constexpr int kPasses = 32;
      const auto part = static_cast<long long>(std::min(cache / 3, sizes_.memory_bytes) / 16);
      HONE_CHECK(add_memory("L2", "read", static_cast<double>(cache),
                            static_cast<double>(part * 16) * kPasses,
                            kernel("roof_read", blocks, source, target, part, kPasses)));
    }
    const double shared =
        static_cast<double>(kRoofSharedOfThread) * sizes_.rounds * kRoofBlock * static_cast<double>(blocks);
    return add_memory("shared", "read", 0, shared, kernel("roof_shared", blocks, target, sizes_.rounds));
  }

  // By the host's clock: a copy of pageable memory is the host's work as much as the device's.
  Status measure_links() {
    const std::size_t bytes = sizes_.link_bytes;
    HONE_ASSIGN(const Memory device, tools_.device->allocate(bytes));
    HONE_ASSIGN(const Memory pinned, tools_.device->allocate_staging(bytes));
    std::vector<std::byte> pageable(bytes, std::byte{1});
    std::memset(pinned.address(), 1, bytes);
    CudaQueue& queue = probe_.queue();
    for (const bool is_pinned : {true, false}) {
      for (const bool to_device : {true, false}) {
        std::byte* const host = is_pinned ? pinned.address() : pageable.data();
        GpuTimes times;
        for (int i = 0; i < 6; ++i) {
          const int64_t begun = now_ns();
          HONE_CHECK(to_device ? queue.copy_in(device.address(), host, bytes)
                               : queue.copy_out(host, device.address(), bytes));
          HONE_CHECK(queue.wait());
          if (i > 0)
            times.seconds.push_back(static_cast<double>(std::max<int64_t>(now_ns() - begun, 1)) * 1e-9);
        }
        result_.links.push_back({to_device, is_pinned, rate_of(times, static_cast<double>(bytes))});
      }
    }
    return {};
  }

  Status measure_launches() {
    HONE_ASSIGN(const GpuWork nothing, kernel("roof_nothing", 1));
    CudaQueue& queue = probe_.queue();
    GpuTimes launches;
    for (int i = 0; i < 6; ++i) {
      const int64_t begun = now_ns();
      for (int k = 0; k < sizes_.launches; ++k) HONE_CHECK(nothing(queue));
      HONE_CHECK(queue.wait());
      if (i > 0) launches.seconds.push_back(static_cast<double>(now_ns() - begun) * 1e-9 / sizes_.launches);
    }
    result_.launch = duration_of(launches);
    HONE_ASSIGN(const GpuTimes nodes, probe_.in_bursts(nothing, 0));
    result_.graph_node = duration_of(nodes);
    return {};
  }

  const GpuTools& tools_;
  const GpuCeilingsOptions& options_;
  const GpuRoofSizes& sizes_;
  GpuProbe& probe_;
  cuda::Module module_;
  GpuCeilings result_;
};

}  // namespace

Result<GpuTools> GpuTools::open(int index) {
  HONE_ASSIGN(const std::shared_ptr<const cuda::Driver> driver, cuda::Driver::load());
  HONE_ASSIGN(const cuda::ContextPointer context, cuda::Context::of_device(driver, index));
  const cuda::LibraryPlaces places = cuda::LibraryPlaces::of_this_process();
  HONE_ASSIGN(std::shared_ptr<const cuda::Nvrtc> nvrtc, cuda::Nvrtc::load(places, driver->version()));
  GpuTools tools;
  tools.device = std::make_shared<runtime::CudaDevice>(context);
  tools.cache = std::make_shared<cuda::KernelCache>(std::move(nvrtc), context->architecture(),
                                                    driver->version(), cuda::KernelCache::default_folder());
  HONE_ASSIGN(tools.products, cuda::BlasLt::load(context, places));
  return tools;
}

Result<GpuCeilings> measure_gpu_ceilings(const GpuTools& tools, const GpuCeilingsOptions& options) {
  HONE_ASSIGN(const std::unique_ptr<GpuProbe> probe, GpuProbe::make(tools.device, options.sizes));
  return GpuMeasurement(tools, options, *probe).run();
}

Roofs roofs_of(const GpuCeilings& ceilings) {
  Roofs roofs;
  roofs.machine = ceilings.device;
  for (const MatrixRoof& row : ceilings.matrix) {
    const bool tf32 = row.type == "tf32";
    const auto dtype = tf32 ? std::optional(DType::kF32) : dtype_from_name(row.type);
    if (dtype) roofs.compute.push_back({*dtype, std::string(tf32 ? kTf32Method : "gemm"), 1, row.burst});
  }
  roofs.compute.push_back({DType::kF32, "fma", 1, ceilings.vector_f32});
  for (const MemoryRoof& row : ceilings.memory)
    if (row.level != "shared") roofs.memory.push_back(row);  // no tensor lies there from kernel to kernel
  roofs.thread_start = ceilings.graph_node;                  // what one more kernel of a plan costs
  return roofs;
}

Ceilings ceilings_of(const GpuCeilings& ceilings) {
  Ceilings as_table;
  as_table.roofs = roofs_of(ceilings);
  as_table.quick = ceilings.quick;
  as_table.from_cache = ceilings.from_cache;
  as_table.seconds = ceilings.seconds;
  as_table.measured_at = ceilings.measured_at;
  as_table.notes = ceilings.notes;
  return as_table;
}

}  // namespace hone::lab
