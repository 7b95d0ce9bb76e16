#include "lab/ceilings/cache.h"

#include <cstdlib>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/hash.h"
#include "core/version.h"
#include "lab/ceilings/ceilings_json.h"

namespace hone::lab {
namespace {

std::filesystem::path default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::filesystem::path(cache) / "hone";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "hone";
  return {};
}

std::string make_key(const Machine& machine, int threads) {
  std::string caches;
  for (const CacheLevel& cache : machine.caches)
    caches += fmt::format(" L{}:{}x{}", cache.level, cache.bytes, cache.instances);
  return fmt::format("{}; {} cores; {} threads;{}; {}; hone {}", machine.cpu, machine.cores, threads, caches,
                     machine.vector_features, machine.hone);
}

}  // namespace

bool worth_keeping(const Ceilings& ceilings) { return ceilings.quick || ceilings.doubtful.empty(); }

CeilingsCache::CeilingsCache(const std::filesystem::path& folder, const Machine& machine, int threads)
    : key_(make_key(machine, threads)) {
  const std::filesystem::path where = folder.empty() ? default_folder() : folder;
  if (!where.empty()) path_ = where / fmt::format("ceilings-{:016x}.json", fnv1a(key_));
}

Result<Ceilings> CeilingsCache::read() const {
  std::error_code ignored;
  if (path_.empty() || !std::filesystem::exists(path_, ignored))
    return not_found("measured roofs: none kept for this machine");
  HONE_ASSIGN(const std::string text, read_file(path_));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  const auto bad = [&](const std::string& what) {
    return corrupt(fmt::format("{}: measured roofs: {}", path_.string(), what));
  };
  if (json.is_discarded() || !json.is_object()) return bad("not JSON");
  if (!json.contains("key") || json["key"] != key_)
    return not_found("measured roofs: kept for another machine");
  auto ceilings = ceilings_from_json(json);
  if (!ceilings.ok()) return bad(ceilings.error().message);
  ceilings->from_cache = true;
  for (std::string& raised : raise_nearer_levels(ceilings->roofs))  // kept by an earlier hone
    ceilings->notes.push_back(std::move(raised));
  return ceilings;
}

Status CeilingsCache::write(const Ceilings& ceilings) const {
  if (path_.empty())
    return not_found("measured roofs: no cache folder (neither XDG_CACHE_HOME nor HOME is set)");
  HONE_CHECK(make_folder(path_.parent_path()));
  nlohmann::ordered_json json = ceilings_json(ceilings);
  json["key"] = key_;
  return write_file(path_, json.dump(1) + "\n");
}

}  // namespace hone::lab
