// One row of the table of rules: all that a rule does and says. Code elsewhere asks the row and never which
// rule it is. docs/adding-a-rule.md walks through adding one.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/advised_changes.h"
#include "analyze/cause.h"
#include "analyze/device/rules/rule.h"
#include "analyze/effort.h"
#include "analyze/framework_text.h"

namespace hone::analyze::device {

// Who keeps a work that several rules claim: the rule of the later line. Each line says why it goes before
// the ones above. Claims of one line are of works that cannot be the same; were they, the first would keep
// them.
enum class Precedence : uint8_t {
  kNone,            // claims no works
  kByItself,        // what a work shows alone: all that follows knows more
  kOrderOfImages,   // an order in which no kernel can be fast says why this one is slow, or runs few blocks
  kProductsInTurn,  // only of products that nothing else is wrong with
  kJoinedPasses,    // passes that are slow alone need not be fast where they need not be
  kAroundConvolutions,  // these passes go with the convolution's layout, whatever else they could be joined
                        // with
  kRepeatedHeads,       // a broadcast of which it is known who reads it
  kWidthOfProducts,     // conversions for a product in f32 go with it, chained or not
  kOtherAlgorithm,      // of a convolution that another algorithm spares, the width does not matter
  kOneKernelForMany,    // one kernel takes the place of all, conversions and copies between them included
  kMadeForAProduct,     // what is made for one product alone, and that product
  kMicroBatches,        // once a micro-batch: with fewer of these there are fewer, whatever they are made for
  kCarriedWide,         // goes with a collective
  kCarriedTooMuch,      // what need not be carried at all need not be carried narrower
  kAnswerForTheHost,    // without the question nothing of this would be
  kCompilation,         // trials of a compiler, whatever they compute
};

// How far the rule reaches around the works that it has.
enum class Scope : uint8_t {
  kWorks,
  kWithGaps,          // the gaps before them too: the host launches them for its sake alone
  kWithGapsAndWaits,  // and what the host waits for after them
};

// What removing it wins.
enum class GainModel : uint8_t {
  kNone,     // no other way is known
  kUnknown,  // likewise, and it is a finding all the same: that it is slow and that nothing is known to help
  kWorks,    // its works take what their claims say
  kWithoutWorks,  // likewise, all of them gone: of what is left of its cause, hiding wins its share
  kShorterWorks,  // likewise, but a way of its own beside hiding
  kJoinedTurns,   // loops do all turns in one call
  kCause,         // all that removing its cause wins
};
// Whether what it wins is a part of what removing the whole cause wins in another way: told first.
constexpr bool is_part_of_cause(GainModel gain) {
  return gain == GainModel::kWithoutWorks || gain == GainModel::kShorterWorks ||
         gain == GainModel::kJoinedTurns;
}

// Texts are fmt templates over these names. About a row: {ms} {share} (of the step) {count} (works, gaps or
// calls in it, a step: {count:kernels} agrees with the number) {mean} (ms / count) {step} {gain} {kernels}
// (works of the step) {busy} (share of the step in which the device ran anything) {rank} (a rank that is
// late) {doing} (what it did then) {remedy} (against that) {outcome} (what a change of numerics is judged by)
// {copies} {exchange} {images} {one_order} {waits} {files} {turns} {graph} {micro_batches} {masters} {batches} {optimizer} {unnamed} (what helps against such
// copies, collectives, conversions, orders, waits, files, loops, bubbles, batches and optimizers, and how to learn what code it is: remedies.h, program_facts.h). About one
// of its largest entries: {name} {ms} {count} {mean} {times} (calls × mean = ms, with the kernels where a call has
// several) {detail} (bytes, rates or a call; may be empty).
struct DeviceRule {
  Rule rule;
  std::string_view id;  // what programs know its findings by; never changes
  Cause cause;
  Precedence precedence = Precedence::kNone;
  bool whole = false;                // a claim falls where another rule keeps one of its works
  bool ends_in_long_chains = false;  // of many passes: joining them helps all the same
  Scope scope = Scope::kWorks;
  GainModel gain;
  double threshold;  // share of the step from which it is a finding
  std::string_view title;
  std::string_view summary;
  std::string_view item = {};
  std::string_view word = {};            // why an operator is slow, in tables of operators
  std::string_view word_of_others = {};  // the same of works that multiply nothing; empty: as `word`
  FrameworkText fix = {};
  FrameworkText caveat = {};
  std::string_view training_caveat = {};  // of programs that train
  AdvisedChanges changes = {};            // of PyTorch programs
  Effort effort = Effort::kCode;
  // What carries the fix out in PyTorch converts what goes into each product and comes out of it: more for the host to launch.
  bool adds_casts = false;
};

// The usual item.
inline constexpr std::string_view kWorkItem = "{name}: {times}{detail}";

}  // namespace hone::analyze::device
