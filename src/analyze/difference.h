// Whether a time differs between two recordings, judged by its steps: by statistics as far as the steps go,
// and by size, because two recordings of one program differ, too: by clocks, temperature and neighbours,
// which no statistics over the steps of one recording can see.
#pragma once

#include <span>
#include <string_view>

#include "analyze/findings.h"

namespace hone::analyze {

enum class Certainty {
  kTooFew,  // no difference, however large, could be told from chance
  kNone,    // no difference can be told
  kLikely,  // every step of one lies above every step of the other, which is rare by chance, but not rare
            // enough
  kSure,    // the interval excludes no change
};
std::string_view certainty_name(Certainty certainty);  // JSON: "too few steps", "none", "likely", "sure"

// Two recordings of one program may differ by this share. When the programs in tests/traces/recorded were
// timed in blocks within one process, nine in ten pairs of blocks agreed within 5 % where the device sets the pace, and
// within 15 to 40 % where the host does.
inline constexpr double kDeviceDrift = 0.05;
inline constexpr double kHostDrift = 0.25;
inline constexpr double kHostSetsPace =
    0.3;                                    // from this share of the step on in which the device waits for it
inline constexpr double kPartDrift = 0.10;  // parts of a step shift time among each other
inline constexpr double kPartOfStep = 0.01;  // a smaller change of an operator is nobody's news

struct Difference {
  Estimate change_ms;  // b − a
  bool sure = false;   // the interval excludes no change
  bool apart = false;  // every step of one lies above every step of the other
  double chance = 1;   // that equal programs come apart like that
  Certainty certainty = Certainty::kNone;
};

// By how much two recordings of programs like these two may differ.
double drift(const Analysis& a, const Analysis& b);

// `least_ms`: a smaller change is none; nor is one that the steps of one recording show among themselves,
// unless every step of one takes twice as long as any of the other.
Difference difference(std::span<const double> a, std::span<const double> b, double least_ms);

// How many steps of each recording make a difference sure where all of them lie apart.
int steps_to_be_sure();

}  // namespace hone::analyze
