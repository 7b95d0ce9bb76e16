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

class Fuser {
 public:
  Fuser(const trace::Trace& trace, const RankTimeline& timeline, const std::vector<Leaf>& leaves,
        const GpuRoofs& roofs, TraitsByName& traits, BusySplit& split)
      : trace_(trace),
        timeline_(timeline),
        roofs_(roofs),
        traits_(traits),
        uses_(split.uses),
        splits_(split.works),
        at_leaf_(works_at_leaves(trace, timeline, leaves)) {}

  void run() {
    find_chains();
    find_leaking_casts();
    find_attention();
    find_optimizer();
  }

 private:
  // A pass over memory that a fusing compiler could join with its neighbours.
  bool can_fuse(uint32_t index) {
    const Work& work = timeline_.works[index];
    if (at_leaf_[index] != 0) return false;
    if (work.op == kNothing || work.kind == WorkKind::kCollective) return false;
    if (work.kind != WorkKind::kKernel && work.kind != WorkKind::kCopyOnDevice) return false;
    const OperatorUse& use = uses_.rows[work.op];
    return use.memory_bound && !traits_.of(work.span).generated && !traits_.of(work.span).changes_layout &&
           use.elements >= 1024 && trace_.operators[work.op].phase != trace::Phase::kOptimizer;
  }

  // Runs of passes over as many elements on one stream: one of them must stay, the longest.
  void find_chains() {
    std::vector<std::vector<uint32_t>> chains(timeline_.streams.size());
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      std::vector<uint32_t>& chain = chains[work.stream];
      const bool fuses = can_fuse(i);
      if (!chain.empty() && is_small_beside(chain.back(), work)) continue;
      if (!chain.empty() && (!fuses || !continues(chain.back(), work))) {
        close_chain(chain);
        chain.clear();
      }
      if (fuses) chain.push_back(i);
    }
    for (const std::vector<uint32_t>& chain : chains) close_chain(chain);
  }

  // Passes over halves (rotary embeddings, gates) fuse with those over the whole.
  bool continues(uint32_t before, const Work& work) const {
    const Work& last = timeline_.works[before];
    const double a = uses_.rows[last.op].elements, b = uses_.rows[work.op].elements;
    return last.step == work.step && std::max(a, b) <= 2 * std::min(a, b);
  }

  // What stands between two passes over large tensors and keeps nobody from joining them: what is computed of
  // each row's sum, such as the root in a normalisation; counters set to zero; a weight's gradient converted.
  bool is_small_beside(uint32_t before, const Work& work) const {
    const Work& last = timeline_.works[before];
    if (last.step != work.step || work.op == kNothing) return false;
    if (work.kind != WorkKind::kKernel && work.kind != WorkKind::kMemset &&
        work.kind != WorkKind::kCopyOnDevice)
      return false;
    const OperatorUse& use = uses_.rows[work.op];
    return use.memory_bound && use.elements * kRowLength <= uses_.rows[last.op].elements;
  }

  // Makes a tensor that is much larger than what it is made of.
  bool expands(uint32_t work) const {
    const OperatorUse& use = uses_.rows[timeline_.works[work].op];
    return use.largest_input * kRowLength <= use.elements;
  }

  bool reduces(uint32_t work) const {
    return trace_.operators[timeline_.works[work].op].op_class == OperatorClass::kReduction;
  }

  // What a chain makes from small tensors and reduces again need never be in memory: its arithmetic remains,
  // in the kernel of the reduction.
  void keep_arithmetic(std::span<const uint32_t> chain) {
    double ns = 0;
    for (const uint32_t i : chain)
      ns += ns_at(trace_.operators[timeline_.works[i].op].kernel_flops(), roofs_.vector_f32) *
            uses_.part(timeline_.works[i]);
    const auto now = static_cast<double>(timeline_.works[chain.back()].ns());
    const double target = ns / kGoodProduct;
    if (target <= 0 || target >= now) return;  // its arithmetic is not known, or all that it does
    set_split(splits_[chain.back()], Cause::kAvoidableTraffic, target / now, Reason::kChain, target);
  }

  // What only changes the layout, or writes a broadcast out, goes for a reason of its own: the pass that
  // stays is another.
  bool goes_anyway(uint32_t work) const {
    const WorkSplit& split = splits_[work];
    return (split.cause == Cause::kLayout || split.reason == Reason::kBroadcast) && split.target_ns == kGone;
  }

  void close_chain(std::span<const uint32_t> chain) {
    for (std::size_t first = 0, end = 0; first < chain.size(); first = end) {
      while (end < chain.size() && repeats(chain[first], chain[end])) ++end;
      if (end - first < kFewestInARow) continue;  // a loop over several tensors: none reads the one before
      close_chain(chain.first(first));
      return close_chain(chain.subspan(end));
    }
    if (!chain.empty()) mark_chain(chain);
  }

  // Whether two works are the same kernel of the same operator.
  bool repeats(uint32_t first, uint32_t other) const {
    const Work &a = timeline_.works[first], &b = timeline_.works[other];
    return a.op == b.op && trace_.spans.name[a.span] == trace_.spans.name[b.span];
  }

  // The kernels of one operator belong together: a normalisation must pass twice. In a long chain it is
  // fusing that helps, in whatever orders its tensors lie.
  void mark_chain(std::span<const uint32_t> chain) {
    std::vector<std::pair<std::size_t, int64_t>> units;  // first place in the chain, time
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const Work& work = timeline_.works[chain[k]];
      const bool same = k > 0 && timeline_.works[chain[k - 1]].op == work.op &&
                        trace_.spans.name[timeline_.works[chain[k - 1]].span] != trace_.spans.name[work.span];
      if (!same) units.push_back({k, 0});
      units.back().second += goes_anyway(chain[k]) ? 0 : work.ns();
    }
    auto longest = std::max_element(units.begin(), units.end(),
                                    [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool inside = expands(chain.front()) && reduces(chain.back());
    if (inside) longest = units.end() - 1;
    for (auto unit = units.begin(); unit != units.end(); ++unit) {
      const std::size_t end = unit + 1 == units.end() ? chain.size() : (unit + 1)->first;
      for (std::size_t k = unit->first; k < end; ++k) {
        const uint32_t i = chain[k];
        const uint32_t op = timeline_.works[i].op;
        const bool layout = splits_[i].cause == Cause::kLayout &&
                            !(splits_[i].reason == Reason::kMixedOrders && units.size() >= kLongChain);
        if (layout || splits_[i].reason == Reason::kAppend || splits_[i].reason == Reason::kBroadcast)
          continue;
        const bool cast = is_cast(trace_.operators[op], uses_.rows[op].inputs);
        if (unit == longest && !(cast && units.size() == 1)) {
          if (inside && k + 1 == end) keep_arithmetic(chain);
          continue;
        }
        set_split(splits_[i], Cause::kAvoidableTraffic, 0,
                  cast && units.size() == 1 ? Reason::kCast : Reason::kChain, kGone);
      }
    }
  }

  // Conversions of what f32 products among products in 16 bits read or write go with them.
  void find_leaking_casts() {
    std::set<double> sizes;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i)
      if (splits_[i].reason == Reason::kLeak)
        for (const trace::CallInput& input : uses_.rows[timeline_.works[i].op].inputs)
          if (input.kind == trace::CallInput::Kind::kTensor)
            sizes.insert(static_cast<double>(input.elements()));
    for (uint32_t i = 0; i < timeline_.works.size() && !sizes.empty(); ++i) {
      const uint32_t op = timeline_.works[i].op;
      if (splits_[i].cause == Cause::kAvoidableTraffic &&
          is_cast(trace_.operators[op], uses_.rows[op].inputs) && sizes.contains(uses_.rows[op].elements))
        set_split(splits_[i], Cause::kPrecision, 0, Reason::kLeak, kGone);
    }
  }

  // Passes over the scores of attention that a softmax over them gives away by their size.
  void find_attention() {
    std::set<double> sizes;
    std::set<int64_t> lengths;
    for (std::size_t op = 0; op < uses_.rows.size(); ++op) {
      const OperatorUse& use = uses_.rows[op];
      if (use.works == 0 || !is_softmax(trace_.operators[op])) continue;
      for (const trace::CallInput& input : use.inputs) {
        const std::size_t rank = input.dims.size();
        if (rank < 3 || input.dims[rank - 1] < kAttentionLength || input.dims[rank - 2] <= 1) continue;
        sizes.insert(static_cast<double>(input.elements()));
        lengths.insert(input.dims[rank - 1]);
      }
    }
    if (!sizes.empty()) mark_attention(sizes, lengths);
  }

  static bool is_softmax(const trace::Operator& op) { return op.kind.find("softmax") != std::string::npos; }

  // A product of which the scores are an input or the output.
  bool makes_scores(const Work& work, const std::set<int64_t>& lengths) const {
    if (work.op == kNothing || trace_.operators[work.op].kind != "aten::bmm") return false;
    const OperatorUse& use = uses_.rows[work.op];
    if (!is_tensor(use.inputs, 0) || !is_tensor(use.inputs, 1)) return false;
    const auto &a = use.inputs[0].dims, &b = use.inputs[1].dims;
    if (a.size() != 3 || b.size() != 3) return false;
    return lengths.contains(b[2]) || lengths.contains(a[2]);
  }

  // One fused kernel takes the place of the passes and the products around each softmax, which stands for it.
  void mark_attention(const std::set<double>& sizes, const std::set<int64_t>& lengths) {
    double product_ns = 0;
    std::vector<uint32_t> softmaxes;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      WorkSplit& split = splits_[i];
      if (makes_scores(work, lengths) && split.reason != Reason::kLeak) {
        product_ns += static_cast<double>(work.ns());
        split.cause = Cause::kAvoidableTraffic;
        split.reason = Reason::kAttention;
        split.target_ns = kGone;
      } else if (can_fuse(i) && sizes.contains(uses_.rows[work.op].elements)) {
        set_split(split, Cause::kAvoidableTraffic, 0, Reason::kAttention, kGone);
        if (is_softmax(trace_.operators[work.op])) softmaxes.push_back(i);
      }
    }
    for (uint32_t i : softmaxes)
      splits_[i].target_ns = kFusedAttentionShare * product_ns / static_cast<double>(softmaxes.size());
  }

  // An optimizer of many small works. The first of a step stands for the fused kernel.
  void find_optimizer() {
    std::vector<std::pair<int32_t, std::vector<uint32_t>>> steps;
    for (std::size_t op = 0; op < uses_.rows.size(); ++op)  // then the rest is not the optimizer
      if (uses_.rows[op].works > 0 && trace_.operators[op].kind.find("_fused_") != std::string::npos) return;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      if (work.op == kNothing || work.kind == WorkKind::kCollective) continue;
      const trace::Operator& op = trace_.operators[work.op];
      if (op.phase != trace::Phase::kOptimizer) continue;
      if (traits_.of(work.span).generated) continue;
      if (steps.empty() || steps.back().first != work.step) steps.push_back({work.step, {}});
      steps.back().second.push_back(i);
    }
    for (const auto& [step, works] : steps) {
      if (static_cast<int>(works.size()) < kUnfusedOptimizerWorks) continue;
      double total = 0;
      for (uint32_t i : works) total += static_cast<double>(timeline_.works[i].ns());
      for (uint32_t i : works)
        set_split(splits_[i], Cause::kAvoidableTraffic, kFusedOptimizerShare, Reason::kOptimizer, kGone);
      splits_[works.front()].target_ns = total * kFusedOptimizerShare;
    }
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  TraitsByName& traits_;
  const OperatorUses& uses_;
  std::vector<WorkSplit>& splits_;
  std::vector<char> at_leaf_;  // by work: runs where no compiler sees it
};

}  // namespace

void mark_fusible(const trace::Trace& trace, const RankTimeline& timeline, const std::vector<Leaf>& leaves,
                  const GpuRoofs& roofs, TraitsByName& traits, BusySplit& split) {
  Fuser(trace, timeline, leaves, roofs, traits, split).run();
}

}  // namespace hone::analyze::device
