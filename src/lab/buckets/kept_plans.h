// Plans of buckets that outlive the process: a plan file each (lab/saved_plan.h) in hone's folder for caches, under a name
// made of all that the plan depends on: the model with its numbers, extents, passes, device, driver and libraries, hone's
// version. A convenience, as every cache: what is missing, damaged, or of somebody else is made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::lab {

// What the model's symbols stand for: "batch" → 3.
using Extents = std::map<std::string, int64_t>;

// What all plans of one model have in common: a text that differs where one thing does that they depend on.
std::string plans_key(const graph::Graph& graph, const runtime::Provider& provider,
                      const std::set<std::string>& disabled_passes, const runtime::PlanOptions& options);

// Thread-safe; so are processes that share a folder: each file is written beside its name and renamed into place.
class KeptPlans {
 public:
  // `provider` must outlive the object and its plans.
  KeptPlans(std::filesystem::path folder, const runtime::Provider& provider, std::string key)
      : folder_(std::move(folder)), provider_(&provider), key_(std::move(key)) {}
  // "plans" in hone's folder for caches (core/cache_folder.h); empty if there is none.
  static std::filesystem::path default_folder();

  struct Found {
    std::unique_ptr<runtime::Plan> plan;  // null: none
    std::string why_not;                  // what is wrong with the one that there is; empty for none
  };
  Found find(const Extents& extents) const;
  Status keep(const runtime::Plan& plan, const Extents& extents) const;

  // What a folder may hold. The files that were used longest ago go first.
  void limit_bytes(std::size_t bytes) { limit_bytes_ = bytes; }

 private:
  std::filesystem::path file_of(const Extents& extents) const;

  std::filesystem::path folder_;
  const runtime::Provider* provider_;
  std::string key_;
  std::size_t limit_bytes_ = std::size_t{8} << 30;  // plans hold the model's weights
};

}  // namespace hone::lab
