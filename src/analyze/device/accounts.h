// The ledger's rows as sums of named entries: each nanosecond of the typical step in one row, with what it
// belongs to (an operator, a kernel, a call of the host), so that evidence can name it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/busy/busy_split.h"
#include "analyze/device/entry_traits.h"
#include "analyze/device/study.h"

namespace hone::analyze::device {

// Lines of source that an operator is called from: of the program, and of a package that it called; empty where there is
// none (trace/source_line.h).
using CodePlace = std::pair<std::string_view, std::string_view>;

// An entry of an account: what a reader would look for in the timeline.
struct AccountEntry {
  std::string name;    // for people
  EntryTraits traits;  // for programs
  Rule rule = Rule::kFloor;
  double ms = 0;      // of the typical step
  double whole = 0;   // ms of the same works with what other causes have of them
  double count = 0;   // a step: works, gaps or calls; 0: nothing to count
  double calls = 0;   // a step: executions of operators that the works are of; 0: none
  double gap_ms = 0;  // of `whole`: in gaps before its works
  // Of the works whose operators have known costs, gaps before them left out: what they move and compute in
  // working_ms. A kernel has the part of its call's costs that it has of the call's time.
  double working_ms = 0, bytes = 0, flops = 0;
  uint32_t op = kNothing;
  uint32_t kernel = kNothing;  // string id of a kernel's name
  // The longest of it in the window that is drawn (typical_window); of no length: there is none.
  int64_t shown_start_ns = 0, shown_end_ns = 0;
  std::map<CodePlace, double> callers = {};  // ms of works and waits of operators whose place is known
};

struct Account {
  Cause cause = Cause::kFloor;
  double ms = 0;
  std::vector<AccountEntry> entries;  // largest first
  std::vector<double> window_ms;      // of every step, in order of time

  double of(Rule rule) const;
  Rule main_rule() const;  // that most of it has
};

using Accounts = std::array<Account, kCauseCount>;

// The accounts of one rank. They add up to its typical step.
Accounts make_accounts(const Study& study, std::size_t rank);

// The account that an idle interval is booked in: launches that exist only because of something else count
// for that.
struct IdleAccount {
  Cause cause = Cause::kLaunch;
  Rule rule = Rule::kSlowLaunches;
  std::string name;
};
IdleAccount account_of(const Study& study, std::size_t rank, const IdleInterval& interval);

// A row of the operator table as a person would call it, the same for all places where the operator runs and for sizes
// that vary: "addmm 8192×768 · 768×3072", "nms 8637–8647×4 f32".
std::string operator_title(const Study& study, std::size_t rank, uint32_t op);

}  // namespace hone::analyze::device
