#include "lab/ceilings/gpu/gpu_ceilings_cache.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/version.h"
#include "lab/ceilings/gpu/gpu_ceilings_json.h"

namespace hone::lab {

GpuCeilingsCache::GpuCeilingsCache(const std::filesystem::path& folder, const GpuTools& tools) {
  const cuda::Context& context = *tools.device->context();
  key_ =
      fmt::format("{}; sm_{}; {} multiprocessors; driver {}; cuBLASLt {}; NVRTC {}; hone {}", context.name(),
                  context.architecture().number, context.multiprocessors(), context.driver().version(),
                  tools.products->version(), tools.cache->compiler_version(), kVersion);
  const std::filesystem::path where = folder.empty() ? cache_folder() : folder;
  if (!where.empty()) path_ = where / fmt::format("ceilings-gpu-{:016x}.json", fnv1a(key_));
}

Result<GpuCeilings> GpuCeilingsCache::read() const {
  std::error_code ignored;
  if (path_.empty() || !std::filesystem::exists(path_, ignored))
    return not_found("measured roofs: none kept for this GPU");
  HONE_ASSIGN(const std::string text, read_file(path_));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  const auto bad = [&](const std::string& what) {
    return corrupt(fmt::format("{}: measured roofs: {}", path_.string(), what));
  };
  if (json.is_discarded() || !json.is_object()) return bad("not JSON");
  if (!json.contains("key") || json["key"] != key_) return not_found("measured roofs: kept for another GPU");
  auto ceilings = gpu_ceilings_from_json(json);
  if (!ceilings.ok()) return bad(ceilings.error().message);
  ceilings->from_cache = true;
  return ceilings;
}

Status GpuCeilingsCache::write(const GpuCeilings& ceilings) const {
  if (path_.empty())
    return not_found("measured roofs: no cache folder (neither XDG_CACHE_HOME nor HOME is set)");
  HONE_CHECK(make_folder(path_.parent_path()));
  nlohmann::ordered_json json = gpu_ceilings_json(ceilings);
  json["key"] = key_;
  return write_file(path_, json.dump(1) + "\n");
}

Result<GpuCeilings> load_or_measure_gpu_ceilings(const GpuTools& tools, const GpuCeilingsOptions& options) {
  const GpuCeilingsCache cache(options.cache_folder, tools);
  std::vector<std::string> notes;
  if (!options.refresh) {
    auto cached = cache.read();
    if (cached.ok() && (!cached->quick || options.quick)) return cached;
    if (!cached.ok() && cached.error().code != ErrorCode::kNotFound)
      notes.push_back(cached.error().message + "; measuring again");
  }
  HONE_ASSIGN(GpuCeilings measured, measure_gpu_ceilings(tools, options));
  if (const Status written = cache.write(measured); !written.ok())
    notes.push_back(written.error().message);  // the measurement is as good without
  measured.notes.insert(measured.notes.begin(), notes.begin(), notes.end());
  return measured;
}

}  // namespace hone::lab
