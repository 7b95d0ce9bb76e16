// A provider: a kind of device that plans run on. It offers kernels for nodes, times them, and owns the
// device whose memory and queues plans use; the plan chooses between kernels by what the provider measures.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/capabilities.h"
#include "graph/graph.h"
#include "runtime/device.h"
#include "runtime/kernel.h"

namespace hone::runtime {

class KernelTimer;

// A kernel that could run a node. Making it may be costly (weights are packed then), so it is made only to be
// measured or used. `make` may be called as often as wanted, from any thread, while the graph that the
// candidate was asked for and the provider live.
struct Candidate {
  std::string name;  // stable across runs: the key in the timing cache
  std::function<Result<std::unique_ptr<Kernel>>()> make;
  bool reference = false;  // no kernel of the provider's own: the interpreter stands in, correct and slow
};

// A part of what a provider is, as far as a plan depends on it: "oneDNN", "3.1.0".
struct Trait {
  std::string what;
  std::string value;
  friend bool operator==(const Trait&, const Trait&) = default;
};

// What of its device an operator has to itself while it runs: all of it, or a lane, beside the operators of
// other lanes (Queue::fork). What a lane is the provider knows: a thread of the CPU, a stream of a GPU.
enum class Share : uint8_t { kDevice, kLane };

// Holds a device steady while it is measured, for as long as it lives.
class Hold {
 public:
  virtual ~Hold() = default;
};

// Thread-safe: every function may be called by several threads at once. Queues, kernels, timers and plans made
// with it outlive it safely (they keep what they need of the device). Candidates do not, nor do plans with steps
// on the host, which make kernels for the shapes that they meet (plan.h).
class Provider {
 public:
  virtual ~Provider() = default;
  virtual std::string_view name() const = 0;  // what make_provider() takes
  // What the timing cache keys measurements by: device, library versions, threads of such a share.
  virtual std::string signature(Share share) const = 0;
  // The same of the whole device part by part, for who has to say which of them is another. Never empty.
  virtual std::vector<Trait> traits() const { return {{"device", signature(Share::kDevice)}}; }
  virtual std::shared_ptr<Device> device() const = 0;  // never null, always the same

  // Kernels for a node whose types are all static, best guess first, made for such a share. Empty: the
  // provider has none, and no reference kernel stands in silently: the list then holds the reference, named
  // so.
  virtual Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                                    Share share) const = 0;
  // Times this provider's kernels as steps run them that touch `step_bytes` of memory.
  virtual Result<std::unique_ptr<KernelTimer>> make_timer(std::size_t step_bytes, Share share) const;
  // How many lanes can run at once; 1: none beside another.
  virtual int lanes() const { return 1; }
  // What takes longer in a lane fills the device alone, and gains nothing beside others.
  virtual double longest_in_lane_us() const { return std::numeric_limits<double>::infinity(); }

  // Whether making its kernels compiles code on one core: plans then have several made at a time.
  virtual bool compiles() const { return false; }
  // Threads of the host that its kernels compute on.
  virtual int threads() const { return 1; }
  // What its kernels take, as far as passes have to know: the one table of it. By default nothing that a pass
  // could make use of.
  virtual const graph::Capabilities& capabilities() const;
  // Whether it has a kernel of its own for `node`, none that only stands in for one. Not for a node with open
  // extents: which kernels there are depends on them.
  bool runs(const graph::Graph& graph, const graph::Node& node) const;
  // For the thread that calls, which is the one to measure on. May be null.
  virtual std::unique_ptr<Hold> hold() const { return nullptr; }
};

}  // namespace hone::runtime
