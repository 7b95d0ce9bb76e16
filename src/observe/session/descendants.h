// The processes that a program has started, held so that those which outlive it can be ended: the ranks of a launcher, what a shell
// has started. None can be taken for another that came to its number.
#pragma once

#include <memory>
#include <vector>

#include "core/descriptor.h"

namespace hone::observe {

class Descendants {
 public:
  // Those of now, without `root` itself. Empty where the system cannot hold processes (before Linux 5.3).
  explicit Descendants(int root);

  int living() const;
  // Asks those that live to end, and ends them after `patience_s`.
  void end(double patience_s) const;

 private:
  std::vector<std::unique_ptr<Descriptor>> held_;
};

}  // namespace hone::observe
