#include "analyze/device/busy/fusion.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/timeline/loops.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorClass;

// A pass over memory that a fusing compiler could join with its neighbours.
bool can_fuse(const View& view, uint32_t i) {
  const Work& work = view.work(i);
  if (view.in_accumulate_grad[i] != 0) return false;
  if (work.op == kNothing || (work.kind != WorkKind::kKernel && work.kind != WorkKind::kCopyOnDevice))
    return false;
  const OperatorUse& use = view.use_of(i);
  return use.memory_bound && !view.kernel(i).generated && !view.kernel(i).changes_layout() &&
         use.elements >= 1024 && view.operator_of(i).phase != trace::Phase::kOptimizer;
}

// Runs of passes over as many elements on one stream: one of them must stay, the longest.
class ChainFinder {
 public:
  ChainFinder(const View& view, std::span<const WorkSplit> known) : view_(view), known_(known) {}

  Claims run() {
    std::vector<std::vector<uint32_t>> chains(view_.timeline.streams.size());
    for (uint32_t i = 0; i < view_.works(); ++i) {
      std::vector<uint32_t>& chain = chains[view_.work(i).stream];
      const bool fuses = can_fuse(view_, i);
      if (!chain.empty() && is_small_beside(chain.back(), i)) continue;
      if (!chain.empty() && (!fuses || !continues(chain.back(), i))) {
        close_chain(chain);
        chain.clear();
      }
      if (fuses) chain.push_back(i);
    }
    for (const std::vector<uint32_t>& chain : chains) close_chain(chain);
    return std::move(claims_);
  }

 private:
  // The kernels of one operator, which belong together: a normalisation must pass twice.
  struct Unit {
    std::size_t first = 0;  // place in the chain
    int64_t ns = 0;
  };

  // Passes over halves (rotary embeddings, gates) fuse with those over the whole.
  bool continues(uint32_t before, uint32_t work) const {
    const double a = view_.use_of(before).elements, b = view_.use_of(work).elements;
    return view_.work(before).step == view_.work(work).step && std::max(a, b) <= 2 * std::min(a, b);
  }

  // What stands between two passes over large tensors and keeps nobody from joining them: what is computed of
  // each row's sum, such as the root in a normalisation; counters set to zero; a weight's gradient converted.
  bool is_small_beside(uint32_t before, uint32_t i) const {
    const Work& work = view_.work(i);
    if (view_.work(before).step != work.step || work.op == kNothing) return false;
    if (work.kind != WorkKind::kKernel && work.kind != WorkKind::kMemset &&
        work.kind != WorkKind::kCopyOnDevice)
      return false;
    const OperatorUse& use = view_.use_of(i);
    return use.memory_bound && use.elements * kRowLength <= view_.use_of(before).elements;
  }

  // Makes a tensor that is much larger than what it is made of.
  bool expands(uint32_t work) const {
    return view_.use_of(work).largest_input * kRowLength <= view_.use_of(work).elements;
  }

  bool reduces(uint32_t work) const { return view_.operator_of(work).op_class == OperatorClass::kReduction; }

  // What a chain makes from small tensors and reduces again need never be in memory: its arithmetic remains,
  // in the kernel of the reduction.
  void keep_arithmetic(std::span<const uint32_t> chain) {
    double ns = 0;
    for (const uint32_t i : chain)
      ns += ns_at(view_.operator_of(i).kernel_flops(), view_.roofs.vector_f32) * view_.part_of(i);
    const double now = view_.ns(chain.back()), target = ns / kGoodProduct;
    if (target <= 0 || target >= now) return;  // its arithmetic is not known, or all that it does
    claims_.push_back({Rule::kUnfusedChain, {{chain.back(), target, target / now}}});
  }

  // What only changes the layout, or writes a broadcast out, goes for a reason of its own: the pass that
  // stays is another.
  bool goes_anyway(uint32_t work) const {
    const Cause cause = known_[work].cause();
    return known_[work].target_ns == kGone && (cause == Cause::kLayout || cause == Cause::kAvoidableTraffic);
  }

  // Has a cost of its own, which joining it with others does not remove.
  bool stays_apart(uint32_t work, std::size_t units) const {
    const DeviceRule& known = row_of(known_[work].rule);
    if (known.ends_in_long_chains && units >= kLongChain) return false;
    return known.cause == Cause::kLayout || known.cause == Cause::kAvoidableTraffic;
  }

  // Cuts out loops over several tensors, in which none reads what the one before wrote.
  void close_chain(std::span<const uint32_t> chain) {
    std::size_t begin = 0;
    for (std::size_t first = 0, end = 0; first < chain.size(); first = end) {
      while (end < chain.size() && repeats(chain[first], chain[end])) ++end;
      if (end - first < kFewestInARow) continue;
      if (first > begin) claim_chain(chain.subspan(begin, first - begin));
      begin = end;
    }
    if (begin < chain.size()) claim_chain(chain.subspan(begin));
  }

  // Whether two works are the same kernel of the same operator.
  bool repeats(uint32_t first, uint32_t other) const {
    return view_.work(first).op == view_.work(other).op && kernel_name(first) == kernel_name(other);
  }
  trace::StringId kernel_name(uint32_t work) const { return view_.trace.spans.name[view_.work(work).span]; }

  std::vector<Unit> units_of(std::span<const uint32_t> chain) const {
    std::vector<Unit> units;
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const bool same = k > 0 && view_.work(chain[k - 1]).op == view_.work(chain[k]).op &&
                        kernel_name(chain[k - 1]) != kernel_name(chain[k]);
      if (!same) units.push_back({k, 0});
      units.back().ns += goes_anyway(chain[k]) ? 0 : view_.work(chain[k]).ns();
    }
    return units;
  }

  void claim_chain(std::span<const uint32_t> chain) {
    const std::vector<Unit> units = units_of(chain);
    auto longest = std::max_element(units.begin(), units.end(),
                                    [](const Unit& a, const Unit& b) { return a.ns < b.ns; });
    const bool inside = expands(chain.front()) && reduces(chain.back());
    if (inside) longest = units.end() - 1;
    for (auto unit = units.begin(); unit != units.end(); ++unit) {
      const std::size_t end = unit + 1 == units.end() ? chain.size() : (unit + 1)->first;
      for (std::size_t k = unit->first; k < end; ++k) {
        const uint32_t i = chain[k];
        if (stays_apart(i, units.size())) continue;
        const bool lone_cast = units.size() == 1 && is_cast(view_.operator_of(i), view_.inputs_of(i));
        if (unit == longest && !lone_cast) {
          if (inside && k + 1 == end) keep_arithmetic(chain);
          continue;
        }
        claims_.push_back({lone_cast ? Rule::kLoneCasts : Rule::kUnfusedChain, {removed(i)}});
      }
    }
  }

  const View& view_;
  std::span<const WorkSplit> known_;
  Claims claims_;
};

// An f32 product among products in 16 bits.
bool is_leak(const View& view, uint32_t i, std::span<const WorkSplit> known) {
  return view.has_operator(i) && known[i].cause() == Cause::kPrecision && view.uses.mostly_narrow &&
         view.use_of(i).is_product && view.use_of(i).math == KernelMath::kVectorF32;
}

bool is_softmax(const trace::Operator& op) { return op.what == trace::OperatorKind::kSoftmax; }

// The scores of attention, which a softmax over them gives away by their size.
struct Scores {
  std::set<double> sizes;
  std::set<int64_t> lengths;
};

Scores find_scores(const View& view) {
  Scores scores;
  for (std::size_t op = 0; op < view.uses.rows.size(); ++op) {
    const OperatorUse& use = view.uses.rows[op];
    if (use.works == 0 || !is_softmax(view.trace.operators[op])) continue;
    for (const trace::CallInput& input : use.inputs) {
      const std::size_t rank = input.dims.size();
      if (rank < 3 || input.dims[rank - 1] < kAttentionLength || input.dims[rank - 2] <= 1) continue;
      scores.sizes.insert(static_cast<double>(input.elements()));
      scores.lengths.insert(input.dims[rank - 1]);
    }
  }
  return scores;
}

// A product of which the scores are an input or the output.
bool makes_scores(const View& view, uint32_t i, const Scores& scores) {
  if (!view.has_operator(i) || view.operator_of(i).what != trace::OperatorKind::kBmm) return false;
  const Inputs& inputs = view.inputs_of(i);
  if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1)) return false;
  const auto &a = inputs[0].dims, &b = inputs[1].dims;
  if (a.size() != 3 || b.size() != 3) return false;
  return scores.lengths.contains(b[2]) || scores.lengths.contains(a[2]);
}

// The works of an unfused optimizer, by step.
using WorksOfSteps = std::vector<std::pair<int32_t, std::vector<uint32_t>>>;

bool is_fused(trace::OperatorKind what) {
  return what == trace::OperatorKind::kUpdate || what == trace::OperatorKind::kFused ||
         what == trace::OperatorKind::kGenerated;
}

WorksOfSteps optimizer_works(const View& view) {
  WorksOfSteps steps;
  for (std::size_t op = 0; op < view.uses.rows.size(); ++op)  // then the rest is not the optimizer
    if (view.uses.rows[op].works > 0 && is_fused(view.trace.operators[op].what)) return {};
  for (uint32_t i = 0; i < view.works(); ++i) {
    if (!view.has_operator(i) || view.work(i).kind == WorkKind::kCollective) continue;
    if (view.operator_of(i).phase != trace::Phase::kOptimizer || view.kernel(i).generated) continue;
    const int32_t step = view.work(i).step;
    if (steps.empty() || steps.back().first != step) steps.push_back({step, {}});
    steps.back().second.push_back(i);
  }
  return steps;
}

}  // namespace

Claims find_chains(const View& view, std::span<const WorkSplit> known) {
  return ChainFinder(view, known).run();
}

Claims find_leaking_casts(const View& view, std::span<const WorkSplit> known) {
  std::set<double> sizes;
  for (uint32_t i = 0; i < view.works(); ++i)
    if (is_leak(view, i, known))
      for (const trace::CallInput& input : view.inputs_of(i))
        if (input.kind == trace::CallInput::Kind::kTensor)
          sizes.insert(static_cast<double>(input.elements()));
  Claims claims;
  for (uint32_t i = 0; i < view.works() && !sizes.empty(); ++i)
    if (known[i].cause() == Cause::kAvoidableTraffic && is_cast(view.operator_of(i), view.inputs_of(i)) &&
        sizes.contains(view.use_of(i).elements))
      claims.push_back({Rule::kF32Among16Bits, {removed(i)}});
  return claims;
}

// One fused kernel takes the place of the passes and the products around each softmax, which stands for it.
Claims find_attention(const View& view) {
  const Scores scores = find_scores(view);
  if (scores.sizes.empty()) return {};
  double product_ns = 0;
  std::vector<std::size_t> softmaxes;  // places in the claim
  Claim claim{Rule::kAttentionByHand, {}};
  for (uint32_t i = 0; i < view.works(); ++i) {
    if (makes_scores(view, i, scores) && !is_leak(view, i, view.alone)) {
      product_ns += view.ns(i);
      claim.works.push_back(along(i));  // what it takes above its floor stays its own
    } else if (can_fuse(view, i) && scores.sizes.contains(view.use_of(i).elements)) {
      if (is_softmax(view.operator_of(i))) softmaxes.push_back(claim.works.size());
      claim.works.push_back(removed(i));
    }
  }
  for (const std::size_t place : softmaxes)
    claim.works[place].target_ns = kFusedAttentionShare * product_ns / static_cast<double>(softmaxes.size());
  return {std::move(claim)};
}

// The first of a step stands for the fused kernel.
Claims find_unfused_optimizers(const View& view) {
  Claims claims;
  for (const auto& [step, works] : optimizer_works(view)) {
    if (static_cast<int>(works.size()) < kUnfusedOptimizerWorks) continue;
    double total = 0;
    Claim claim{Rule::kUnfusedOptimizer, {}};
    for (const uint32_t i : works) {
      total += view.ns(i);
      claim.works.push_back({i, kGone, kFusedOptimizerShare});
    }
    claim.works.front().target_ns = total * kFusedOptimizerShare;
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace hone::analyze::device
