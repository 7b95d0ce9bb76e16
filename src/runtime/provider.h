// A provider: a kind of device that plans run on. It offers kernels for nodes; the plan chooses between them
// by measuring.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/kernel.h"

namespace hone::runtime {

// A kernel that could run a node. Making it may be costly (weights are packed then), so it is made only to be
// measured or used.
struct Candidate {
  std::string name;  // stable across runs: the key in the timing cache
  std::function<Result<std::unique_ptr<Kernel>>()> make;
};

class Provider;

// How a provider runs operators side by side.
struct Lanes {
  int count = 1;                       // lanes that can run at once; 1: none beside another
  std::unique_ptr<Provider> provider;  // of the kernels for a lane; make and time them inside run(1, …)
  // Calls work(context, lane) for each lane in [0, lanes) at once and waits for all. Outlives the provider.
  void (*run)(int lanes, void (*work)(void* context, int lane), void* context) = nullptr;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;
  // What the timing cache keys measurements by: device, library versions, threads.
  virtual std::string signature() const = 0;
  // Of the largest cache: timings are taken with caches as a step leaves them. 0: caches are left alone.
  virtual std::size_t cache_bytes() const { return 0; }
  // Kernels for a node whose types are all static, best guess first. Empty: the provider has none, and no
  // reference kernel stands in silently: the list then holds the reference, named so.
  virtual Result<std::vector<Candidate>> candidates(const graph::Graph& graph,
                                                    const graph::Node& node) const = 0;
  virtual Lanes lanes() const { return {}; }
};

}  // namespace hone::runtime
