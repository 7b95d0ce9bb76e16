// Finding and loading the library of ONNX Runtime.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <dlfcn.h>
#include <fmt/core.h>

#include "lab/peers/ort.h"
#include "lab/peers/ort_api.h"

namespace hone::lab {
namespace {

// Asks Python where its onnxruntime package lies, without importing it.
constexpr const char* kAskPython =
    "python3 -c 'import importlib.util as u, pathlib as p; s = u.find_spec(\"onnxruntime\"); "
    "print(*sorted(p.Path(s.origin).parent.glob(\"capi/libonnxruntime.so*\"))[:1], end=\"\") if s else None' "
    "2>/dev/null";

std::string ask_python() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(kAskPython, "r"), &::pclose);
  if (pipe == nullptr) return {};
  std::array<char, 4096> buffer{};
  const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
  return {buffer.data(), count};
}

void* load(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

Result<void*> load_named(const std::string& path, const char* named_by) {
  if (void* handle = load(path); handle != nullptr) return handle;
  return not_found(fmt::format("cannot load ONNX Runtime from {} ({}): {}", path, named_by, ::dlerror()));
}

Result<void*> find(const std::filesystem::path& path) {
  if (!path.empty()) return load_named(path.string(), "the given path");
  if (const char* named = std::getenv("HONE_ORT_LIBRARY"); named != nullptr && *named != '\0')
    return load_named(named, "from HONE_ORT_LIBRARY");
  for (const char* name : {"libonnxruntime.so", "libonnxruntime.so.1"})
    if (void* handle = load(name); handle != nullptr) return handle;
  const std::string in_python = ask_python();
  if (!in_python.empty()) return load_named(in_python, "from the python3 package onnxruntime");
  return not_found(
      "ONNX Runtime is not installed here: neither HONE_ORT_LIBRARY nor the loader nor python3's packages "
      "have libonnxruntime.so; 'pip install onnxruntime', or give --ort-library PATH");
}

}  // namespace

Result<OrtLibrary> OrtLibrary::open(const std::filesystem::path& path) {
  HONE_ASSIGN(void* const handle, find(path));
  using GetBase = const ort::ApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(::dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr)
    return invalid(fmt::format("{} is not ONNX Runtime: it has no OrtGetApiBase", path.string()));
  const ort::ApiBase* base = get_base();
  OrtLibrary library;
  library.table_ = static_cast<const void* const*>(base->get_api(ort::kApiVersion));
  library.version_ = base->get_version();
  if (library.table_ == nullptr)
    return unsupported(fmt::format("ONNX Runtime {} does not offer version {} of its interface",
                                   library.version_, ort::kApiVersion));
  return library;
}

}  // namespace hone::lab
