// The provider given, that must not be asked to measure: its timers stand for the real ones, under whose conditions timings are
// remembered, and give no memory to run kernels in.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel_timer.h"
#include "runtime/provider.h"

namespace hone::runtime::testing {

class SilentTimer : public KernelTimer {
 public:
  SilentTimer(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue, std::string conditions)
      : KernelTimer(std::move(device), std::move(queue)), conditions_(std::move(conditions)) {}
  std::string conditions() const override { return conditions_; }
  Result<std::unique_ptr<Sandbox>> sandbox(const graph::Graph&, const graph::Node&) override {
    return invalid("nothing is to be measured");
  }

 private:
  std::string conditions_;
};

class Unmeasured : public Provider {
 public:
  explicit Unmeasured(const Provider& of) : of_(of) {}
  std::string_view name() const override { return of_.name(); }
  std::string signature(Share share) const override { return of_.signature(share); }
  std::vector<Trait> traits() const override { return of_.traits(); }
  std::shared_ptr<Device> device() const override { return of_.device(); }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override {
    return of_.candidates(graph, node, share);
  }
  Result<std::unique_ptr<KernelTimer>> make_timer(std::size_t step_bytes, Share share) const override {
    HONE_ASSIGN(const std::unique_ptr<KernelTimer> timer, of_.make_timer(step_bytes, share));
    HONE_ASSIGN(std::unique_ptr<Queue> queue, of_.device()->make_queue());
    return std::unique_ptr<KernelTimer>(
        std::make_unique<SilentTimer>(of_.device(), std::move(queue), timer->conditions()));
  }
  int lanes() const override { return of_.lanes(); }
  double longest_in_lane_us() const override { return of_.longest_in_lane_us(); }
  bool compiles() const override { return of_.compiles(); }
  int threads() const override { return of_.threads(); }
  const graph::Capabilities& capabilities() const override { return of_.capabilities(); }

 private:
  const Provider& of_;
};

}  // namespace hone::runtime::testing
