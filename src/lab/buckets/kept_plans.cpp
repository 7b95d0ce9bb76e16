#include "lab/buckets/kept_plans.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/version.h"
#include "graph/text.h"
#include "lab/saved_plan.h"

namespace hone::lab {
namespace {

constexpr std::string_view kPlanExtension = ".plan";

// FNV-1a by words of 64 bits, for the gigabytes that weights may be.
uint64_t hash_of_numbers(const Tensor& tensor) {
  const auto* const bytes = static_cast<const std::byte*>(tensor.data());
  uint64_t hash = 14695981039346656037U;
  for (std::size_t at = 0; at < tensor.bytes(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, tensor.bytes() - at));
    hash = (hash ^ word) * 1099511628211U;
    hash ^= hash >> 32;  // the product carries upwards alone
  }
  return hash;
}

// Its text, with large constants by their hashes. Of 64 bits, where those of a training run (lab/training/environment.h) are
// of 32: who goes on with another model is told by more than that, and here two that meet would be wrong numbers.
uint64_t hash_of_model(const graph::Graph& graph) {
  std::vector<Tensor> beside;
  std::string text = graph::print(graph, beside);
  for (const Tensor& tensor : beside)
    text += fmt::format("{} {:016x}\n", tensor.bytes(), hash_of_numbers(tensor));
  return fnv1a(text);
}

}  // namespace

std::string plans_key(const graph::Graph& graph, const runtime::Provider& provider,
                      const std::set<std::string>& disabled_passes, const runtime::PlanOptions& options) {
  std::string key =
      fmt::format("hone {}\nmodel {:016x}\ndevice {}, {} threads\n{}\n", kVersion, hash_of_model(graph),
                  provider.name(), provider.threads(), provider.signature(runtime::Share::kDevice));
  for (const runtime::Trait& trait : provider.traits())
    key += fmt::format("{} {}\n", trait.what, trait.value);
  key += fmt::format("without {}\nmeasured {}, overlap {}\n", fmt::join(disabled_passes, ","),
                     options.autotune, static_cast<int>(options.overlap));
  return key;
}

std::filesystem::path KeptPlans::default_folder() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "plans";
}

std::filesystem::path KeptPlans::file_of(const Extents& extents) const {
  std::string key = key_;
  for (const auto& [symbol, extent] : extents) key += fmt::format("{} = {}\n", symbol, extent);
  return folder_ / fmt::format("{:016x}{}", fnv1a(key), kPlanExtension);
}

KeptPlans::Found KeptPlans::find(const Extents& extents) const {
  const std::filesystem::path path = file_of(extents);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto file = model::read_plan(path);
  if (!file.ok()) return {nullptr, file.error().message};
  // The name that save_plan() was given: a plan that was put here under another's name is not the one that is sought.
  if (file->about.model != path.filename().string())
    return {nullptr, fmt::format("{}: a plan of {}", path.string(), file->about.model)};
  auto plan = make_again(*file, *provider_);
  if (!plan.ok()) return {nullptr, plan.error().within(path.string()).message};
  mark_used(path);
  return {*std::move(plan), {}};
}

Status KeptPlans::keep(const runtime::Plan& plan, const Extents& extents) const {
  const std::filesystem::path path = file_of(extents);
  HONE_CHECK(make_folder(folder_));
  make_room(folder_, kPlanExtension, limit_bytes_);
  return save_plan(plan, *provider_, path, {}, path);
}

}  // namespace hone::lab
