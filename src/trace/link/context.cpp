#include "trace/link/context.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/link/python_functions.h"
#include "trace/link/steps.h"

namespace hone::trace::link {
namespace {

Phase phase_of(Role role, Phase around) {
  switch (role) {
    case Role::kBackward:
      return Phase::kBackward;
    case Role::kOptimizer:
      return Phase::kOptimizer;
    case Role::kData:
      return Phase::kData;
    case Role::kCommunication:
      return Phase::kCommunication;
    default:
      return around;
  }
}

constexpr std::size_t kLongestPath = 1000;  // bytes

// Paths of modules, interned once for each pair of a path and a name within it.
class Paths {
 public:
  explicit Paths(Trace& trace) : trace_(trace), uses_(trace.strings.size(), 0) {
    for (std::size_t row = 0; row < trace.spans.size(); ++row)
      if (trace.spans.name[row].valid()) ++uses_[trace.spans.name[row].index];
  }

  // Longer paths end where they are: no program is made of so many parts within parts, and the texts of all
  // of them would take the square of the depth.
  StringId within(StringId path, StringId name) {
    if (trace_.strings.text(path).size() > kLongestPath) return path;
    const uint64_t key = uint64_t{path.index} << 32 | name.index;
    const auto [at, is_new] = paths_.try_emplace(key, StringId{});
    if (is_new) {
      const std::string_view text = trace_.strings.text(name), written = module_name(text);
      // A range with a number that occurs once is of an occurrence, not of a module: "iteration 17".
      const bool keep = uses_[name.index] > 1 || written.size() < text.size();
      const std::string part = keep ? std::string(written) : without_numbers(written);
      const std::string_view outer = trace_.strings.text(path);
      at->second = trace_.strings.intern(outer.empty() ? part : std::string(outer) + "/" + part);
    }
    return at->second;
  }

 private:
  Trace& trace_;
  std::vector<uint32_t> uses_;  // by string id, of those that were there at first
  std::unordered_map<uint64_t, StringId> paths_;
};

// Origins of forward operators by rank and sequence number. The last one that began is the one that recorded
// the backward node (torch/csrc/profiler/collection.cpp links them in the same way).
using Forward = std::map<int, std::unordered_map<int64_t, Origin>>;

bool is_known(const Origin& origin) {
  return origin.module.valid() || origin.program.valid() || origin.package.valid();
}

// Lines of source that spans of functions name, each looked at once.
class FunctionLines {
 public:
  explicit FunctionLines(Trace& trace) : trace_(trace) {}

  // What is called by a span of that name, which stands within `around`.
  Origin within(Origin around, StringId name) {
    const auto [at, is_new] = lines_.try_emplace(name.index, CodeOwner::kFramework, StringId{});
    if (is_new)
      if (const auto function = python_function(trace_.strings.text(name))) {
        const std::string line = fmt::format("{}:{}", function->file, function->line);
        at->second = {function->owner,
                      function->owner == CodeOwner::kFramework ? StringId{} : trace_.strings.intern(line)};
      }
    const auto [owner, line] = at->second;
    if (owner == CodeOwner::kProgram) return {around.module, line, {}};
    if (owner == CodeOwner::kPackage) around.package = line;
    return around;
  }

 private:
  Trace& trace_;
  std::unordered_map<uint32_t, std::pair<CodeOwner, StringId>> lines_;  // by string id
};

class ContextFinder {
 public:
  ContextFinder(Trace& trace, const SpanNesting& nesting, const std::vector<Role>& roles,
                std::span<const int32_t> steps)
      : trace_(trace), nesting_(nesting), roles_(roles), steps_(steps), paths_(trace), lines_(trace) {
    context_.phase.assign(trace.spans.size(), Phase::kUnknown);
    context_.origin.assign(trace.spans.size(), {});
    compiling_.assign(trace.spans.size(), false);
    role_known_ = roles.size();
  }

  Context run() {
    visit(Pass::kForward);
    visit(Pass::kBackward);
    name_updates();
    return std::move(context_);
  }

 private:
  enum class Pass { kForward, kBackward };

  bool on_host(uint32_t row) const {
    return trace_.tracks[trace_.spans.track[row].index].kind != TrackKind::kStream;
  }
  int rank(uint32_t row) const { return trace_.tracks[trace_.spans.track[row].index].rank; }

  Role role(uint32_t row) const {
    const Category category = trace_.spans.category[row];
    const StringId name = trace_.spans.name[row];
    if (category == Category::kStep || !name.valid() || name.index >= role_known_) return Role::kNone;
    if (category == Category::kRegion || category == Category::kOperator || category == Category::kFunction ||
        category == Category::kInput)
      return roles_[name.index];
    return Role::kNone;
  }

  // The first pass hands phases and origins down and remembers the origins of forward operators; the second
  // gives them to the backward pass.
  void visit(Pass pass) {
    for (uint32_t track = 0; track < trace_.tracks.size(); ++track) {
      if (trace_.tracks[track].kind == TrackKind::kStream) continue;
      for (uint32_t row : nesting_.on_track({track})) {
        if (pass == Pass::kForward)
          hand_down(row);
        else if (context_.phase[row] == Phase::kBackward)
          take_forward_origin(row);
      }
    }
  }

  void hand_down(uint32_t row) {
    const uint32_t around = nesting_.parent(row);
    // What the framework runs while it compiles (tracing a backward pass, trying kernels) is no part of the
    // step's work.
    compiling_[row] =
        trace_.spans.category[row] == Category::kCompile || (around != kNoSpan && compiling_[around]);
    if (compiling_[row]) return;
    const Phase outer = around == kNoSpan ? Phase::kUnknown : context_.phase[around];
    Origin& origin = context_.origin[row];
    origin = around == kNoSpan ? Origin{} : context_.origin[around];
    const Role own = role(row);
    context_.phase[row] = phase_of(own, outer);
    if (own == Role::kModule)
      origin.module = paths_.within(origin.module, trace_.spans.name[row]);
    else if (trace_.spans.category[row] == Category::kFunction && trace_.spans.name[row].valid())
      origin = lines_.within(origin, trace_.spans.name[row]);
    if (context_.phase[row] == Phase::kUnknown && trace_.spans.category[row] == Category::kOperator)
      context_.phase[row] = Phase::kForward;
    if (context_.phase[row] != Phase::kForward || !is_known(origin)) return;
    const Call* call = find_detail(trace_.calls, row);
    if (call != nullptr && call->sequence != kNoSequence) forward_[rank(row)][call->sequence] = origin;
  }

  void take_forward_origin(uint32_t row) {
    const Call* call = find_detail(trace_.calls, row);
    if (call != nullptr && call->sequence != kNoSequence && role(row) == Role::kBackward) {
      const auto& origins = forward_[rank(row)];
      if (const auto at = origins.find(call->sequence); at != origins.end())
        context_.origin[row] = at->second;
      return;
    }
    const uint32_t around = nesting_.parent(row);
    if (!is_known(context_.origin[row]) && around != kNoSpan && context_.phase[around] == Phase::kBackward)
      context_.origin[row] = context_.origin[around];
  }

  // What runs between the backward pass and the end of the optimizer's step (clipping gradients, an optimizer
  // written by hand) prepares or makes the update. What follows it in the same step serves none of these.
  void name_updates() {
    struct Ends {
      int64_t backward = -1;
      int64_t update = -1;
    };
    std::map<std::pair<int, int32_t>, Ends> ends;  // by rank and step
    const auto step_of = [&](uint32_t row) { return std::pair{rank(row), steps_[row]}; };
    for (uint32_t row = 0; row < trace_.spans.size(); ++row) {
      if (!on_host(row) || steps_[row] == kNoStep) continue;
      if (context_.phase[row] != Phase::kBackward) continue;
      int64_t& end = ends[step_of(row)].backward;
      end = std::max(end, trace_.spans.row(row).end_ns());
    }
    if (ends.empty()) return;
    const auto after_backward = [&](uint32_t row) -> Ends* {
      if (!on_host(row) || trace_.spans.category[row] != Category::kOperator) return nullptr;
      const auto at = ends.find(step_of(row));
      return at != ends.end() && trace_.spans.start_ns[row] >= at->second.backward ? &at->second : nullptr;
    };
    for (uint32_t row = 0; row < trace_.spans.size(); ++row) {
      Ends* of_step = after_backward(row);
      if (of_step == nullptr) continue;
      if (context_.phase[row] == Phase::kOptimizer ||
          is_optimizer_kind(trace_.strings.text(trace_.spans.name[row])))
        of_step->update = std::max(of_step->update, trace_.spans.row(row).end_ns());
    }
    for (uint32_t row = 0; row < trace_.spans.size(); ++row) {
      const Ends* of_step = after_backward(row);
      if (of_step == nullptr || context_.phase[row] != Phase::kForward) continue;
      context_.phase[row] =
          trace_.spans.start_ns[row] < of_step->update ? Phase::kOptimizer : Phase::kUnknown;
    }
  }

  Trace& trace_;
  const SpanNesting& nesting_;
  const std::vector<Role>& roles_;
  std::span<const int32_t> steps_;  // by row
  Paths paths_;
  FunctionLines lines_;
  Context context_;
  std::vector<bool> compiling_;  // by row
  Forward forward_;
  std::size_t role_known_ = 0;  // strings that were there when roles were looked up
};

}  // namespace

Context find_context(Trace& trace, const SpanNesting& nesting, const std::vector<Role>& roles,
                     std::span<const int32_t> steps) {
  return ContextFinder(trace, nesting, roles, steps).run();
}

}  // namespace hone::trace::link
