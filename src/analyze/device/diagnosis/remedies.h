// What helps against copies, collectives, conversions of images, waits and files: words that depend on what
// an account consists of and on what the program does, where one text for all of its kind would give half of
// its readers advice for another program. The other fixes are data, in the tables of rules/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/device/gains.h"

namespace hone::analyze::device {

// What a program is known to do, as far as advice depends on it.
struct ProgramTraits {
  bool trains = false;      // some operator belongs to a backward pass or an optimizer
  bool all_ranks = true;    // the recordings of all ranks of the job are here
  bool has_images = false;  // 2-d or 3-d convolutions
  bool has_series = false;  // 1-d convolutions
  bool small_messages = false;
  double varying = 0;        // the share of works whose sizes change from step to step
  bool cache_grows = false;  // with every token: VaryingShapes

  // Whether the whole step could be launched as one graph, were nothing in it that keeps it from that.
  bool may_be_one_graph() const { return varying < kWorthVarying && !cache_grows; }
  static constexpr double kWorthVarying = 0.02;
};

ProgramTraits traits_of(const Study& study, const Gains& gains);

// By the direction in which the copies go, and the memory that they go from and to.
std::string copy_remedy(const std::vector<const AccountEntry*>& entries);

// By what the collectives do. Where ranks of the job are missing, nobody knows how much of it is waiting.
std::string exchange_remedy(const std::vector<const AccountEntry*>& entries, const ProgramTraits& program);

// Against conversions of the operators that have these inputs: by the number of the images' dimensions.
std::string image_remedy(const std::vector<const Inputs*>& operators);

// How a program like this one keeps one order of elements.
std::string order_examples(const ProgramTraits& program);

// By the calls in which the host waits.
std::string wait_remedy(const std::vector<const AccountEntry*>& entries);

// Against launching slowly, and by what the turns of the loops do that launch most: by whether shapes stay, as a graph
// of launches needs.
std::string launch_remedy(const ProgramTraits& program);
std::string loop_remedy(const Loops& loops, const ProgramTraits& program);

// Into what to split a batch that stages take turns on; `predicted`: the number that the gain is of.
std::string micro_batch_remedy(int predicted);

// By whether files are read or written.
std::string file_remedy(const std::vector<const AccountEntry*>& entries);

}  // namespace hone::analyze::device
