// What measuring kernels found, kept on disk: provider signature + node signature → candidate and its time. A
// cache is a convenience: a missing or damaged file is an empty cache, said once in `note()`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::runtime {

// What a node is to a kernel: operator, attributes, types of inputs and outputs, which inputs are constant or one
// value, bodies with their connections. Two nodes of one signature run equally fast.
std::string node_signature(const graph::Graph& graph, const graph::Node& node);

// Not thread-safe: plans that share one are compiled one after another. Processes may share a file: each
// writes the whole of what it knows, and the last one wins.
class TimingCache {
 public:
  TimingCache() = default;  // in memory only
  // Reads `path` if it is there; save() writes it back whole.
  static TimingCache open(std::filesystem::path path);
  // "timings.tsv" in hone's folder for caches (core/cache_folder.h); empty if there is none.
  static std::filesystem::path default_path();

  struct Entry {
    std::string candidate;
    double microseconds = 0;
  };
  std::optional<Entry> find(const std::string& provider, const std::string& node) const;
  void put(const std::string& provider, const std::string& node, Entry entry);
  void erase(const std::string& provider, const std::string& node);
  Status save() const;
  const std::string& note() const { return note_; }
  std::size_t size() const { return entries_.size(); }

 private:
  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;
  std::string note_;
  bool dirty_ = false;
};

}  // namespace hone::runtime
