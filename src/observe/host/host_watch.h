// The session's eyes on the host: in blocks of Mode::kStacks it samples the stacks of the program's processes from outside,
// and at both ends of every block it reads what they have taken of the machine (docs/decisions/0027-stacks-from-outside.md).
// Nothing is done inside of the program. Everything goes to the run folder (segments::kHostFile).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace hone::observe {

class StackSampler;

class HostWatch {
 public:
  // `folder`: of segments.
  static Result<HostWatch> create(const std::filesystem::path& folder);
  HostWatch(HostWatch&&) noexcept;
  HostWatch& operator=(HostWatch&&) = delete;
  ~HostWatch();

  // The process that was started: it and all that it starts are looked at.
  void watch(int root);
  // Whether the stacks of all its Python processes can be read from outside; true, where there are none.
  bool can_read_python() const;

  // Around a block; what processes took between both calls is told by rank.
  void begin_block(uint32_t block);
  void end_block(uint32_t block);

  // Samples until stop_sampling(), in a thread of its own.
  void start_sampling();
  void stop_sampling();

  // What could not be sampled, and why, a line each; once sampling has stopped.
  std::vector<std::string> notes() const;

 private:
  explicit HostWatch(std::unique_ptr<StackSampler> sampler);

  std::unique_ptr<StackSampler> sampler_;
};

}  // namespace hone::observe
