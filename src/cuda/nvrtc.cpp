#include "cuda/nvrtc.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace hone::cuda {
namespace {

// The number in front of `unit`: "24 registers".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int number = 0;
  if (std::from_chars(line.data() + begin, line.data() + at, number).ec != std::errc()) return std::nullopt;
  return number;
}

// A program of NVRTC's, destroyed with this object.
struct NvrtcProgramOwner {
  const NvrtcFunctions& functions;
  NvrtcProgramHandle handle = nullptr;
  explicit NvrtcProgramOwner(const NvrtcFunctions& f) : functions(f) {}
  ~NvrtcProgramOwner() {
    if (handle != nullptr) functions.destroy_program(&handle);
  }
  NvrtcProgramOwner(const NvrtcProgramOwner&) = delete;
  NvrtcProgramOwner& operator=(const NvrtcProgramOwner&) = delete;
};

}  // namespace

std::vector<KernelUse> kernel_uses(std::string_view log) {
  std::vector<KernelUse> uses;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kEntry = "Compiling entry function '";
    if (const std::size_t begins = line.find(kEntry); begins != std::string_view::npos) {
      const std::string_view rest = line.substr(begins + kEntry.size());
      uses.push_back({.name = std::string(rest.substr(0, rest.find('\'')))});
    }
    if (uses.empty()) continue;
    KernelUse& use = uses.back();
    use.stack_bytes = number_before(line, " bytes stack frame").value_or(use.stack_bytes);
    use.spill_stores = number_before(line, " bytes spill stores").value_or(use.spill_stores);
    use.spill_loads = number_before(line, " bytes spill loads").value_or(use.spill_loads);
    use.registers = number_before(line, " registers").value_or(use.registers);
  }
  return uses;
}

Result<std::shared_ptr<const Nvrtc>> Nvrtc::load(const LibraryPlaces& places, int driver_version) {
  HONE_ASSIGN(const FoundLibrary library, find_library(nvrtc_name(), places, driver_version));
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  nvrtc->path_ = library.path;
  const NvrtcFunctions& f = nvrtc->functions_;
  HONE_CHECK(take_functions(library, nvrtc->functions_));
  int major = 0, minor = 0, count = 0;
  HONE_CHECK(nvrtc->check(f.version(&major, &minor), "nvrtcVersion"));
  nvrtc->version_ = major * 1000 + minor * 10;
  HONE_CHECK(nvrtc->check(f.get_num_supported_archs(&count), "nvrtcGetNumSupportedArchs"));
  nvrtc->architectures_.resize(static_cast<std::size_t>(count));
  HONE_CHECK(nvrtc->check(f.get_supported_archs(nvrtc->architectures_.data()), "nvrtcGetSupportedArchs"));
  if (nvrtc->architectures_.empty())
    return unsupported(fmt::format("{} makes code for no architecture", library.path));
  return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
}

Status Nvrtc::check(NvrtcCode code, std::string_view call) const {
  if (code == NvrtcCode::kSuccess) return {};
  const char* const words = functions_.get_error_string(code);
  return io_error(fmt::format("{} ({}): {} ({})", call, path_, words == nullptr ? "unknown error" : words,
                              static_cast<int>(code)));
}

Result<CompiledKernels> Nvrtc::compile(const std::string& source, const std::string& name,
                                       Architecture architecture,
                                       std::span<const std::string> options) const {
  NvrtcProgramOwner program(functions_);
  HONE_CHECK(
      check(functions_.create_program(&program.handle, source.c_str(), name.c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram"));
  CompiledKernels compiled;
  compiled.is_ptx = !std::binary_search(architectures_.begin(), architectures_.end(), architecture.number);
  if (compiled.is_ptx && architecture.number < architectures_.front())
    return unsupported(fmt::format("{} (CUDA {}.{}) makes no code for sm_{}: its oldest is sm_{}", path_,
                                   version_ / 1000, version_ % 1000 / 10, architecture.number,
                                   architectures_.front()));
  // The newest that both know: the driver makes machine code of PTX.
  const auto newer = std::upper_bound(architectures_.begin(), architectures_.end(), architecture.number);
  const int made_for = *std::prev(newer);
  std::vector<std::string> all = {
      fmt::format("--gpu-architecture={}_{}", compiled.is_ptx ? "compute" : "sm", made_for), "--std=c++17",
      "--ptxas-options=-v"};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> pointers;
  for (const std::string& option : all) pointers.push_back(option.c_str());
  const NvrtcCode code =
      functions_.compile_program(program.handle, static_cast<int>(pointers.size()), pointers.data());
  std::size_t bytes = 0;
  HONE_CHECK(check(functions_.get_program_log_size(program.handle, &bytes), "nvrtcGetProgramLogSize"));
  std::string log(bytes, '\0');
  if (bytes > 0)
    HONE_CHECK(check(functions_.get_program_log(program.handle, log.data()), "nvrtcGetProgramLog"));
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  if (code == NvrtcCode::kCompilation)
    return invalid(fmt::format("{} does not compile for sm_{}: {}", name, architecture.number, log));
  HONE_CHECK(check(code, fmt::format("nvrtcCompileProgram of {}", name)));
  compiled.uses = kernel_uses(log);
  const auto size = compiled.is_ptx ? functions_.get_ptx_size : functions_.get_cubin_size;
  const auto get = compiled.is_ptx ? functions_.get_ptx : functions_.get_cubin;
  HONE_CHECK(check(size(program.handle, &bytes), "nvrtcGetCUBINSize"));
  compiled.image.resize(bytes);
  HONE_CHECK(check(get(program.handle, compiled.image.data()), "nvrtcGetCUBIN"));
  return compiled;
}

}  // namespace hone::cuda
