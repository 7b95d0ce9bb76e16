// What a program computed, step by step, and whether another run computed the same.
#pragma once

#include <string>
#include <vector>

#include "lab/program/change.h"

namespace hone::lab {

struct Computed {
  std::vector<double> losses;  // that it went backward from
  std::vector<std::vector<double>>
      outputs;  // of a program without losses: samples of what its model returned

  bool empty() const { return losses.empty() && outputs.empty(); }
};

struct SameNumbers {
  bool same = false;
  double difference = 0;  // relative, the largest of any step
  double allowed = 0;
  int steps = 0;         // that were compared
  std::string sentence;  // what was compared and how it stands
};

// `a` and `again` are runs of the unchanged program: what differs between them bounds what can be told. A loss differs by its
// distance over the mean of the unchanged ones, an output by its distance in the L2 norm. Changes of order are told by the mean of
// all losses alone.
SameNumbers compare_numbers(const Computed& a, const Computed& again, const Computed& changed, Effect effect);

}  // namespace hone::lab
