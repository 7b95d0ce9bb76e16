#include "analyze/device/busy_split.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analyze/device/busy_rules.h"
#include "analyze/device/kernel_traits.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorClass;

constexpr std::size_t at(Cause cause) { return static_cast<std::size_t>(cause); }

bool is_memory_class(OperatorClass op_class) {
  return op_class == OperatorClass::kPointwise || op_class == OperatorClass::kNormalization ||
         op_class == OperatorClass::kReduction || op_class == OperatorClass::kMovement ||
         op_class == OperatorClass::kLayout || op_class == OperatorClass::kPooling;
}

double largest_tensor(const std::vector<trace::CallInput>& inputs) {
  double largest = 0;
  for (const trace::CallInput& input : inputs) {
    if (input.kind == trace::CallInput::Kind::kTensor)
      largest = std::max(largest, static_cast<double>(input.elements()));
    for (const trace::CallInput& item : input.items)
      largest = std::max(largest, static_cast<double>(item.elements()));
  }
  return largest;
}

bool is_tensor(const std::vector<trace::CallInput>& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i].kind == trace::CallInput::Kind::kTensor;
}

class Splitter {
 public:
  Splitter(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs)
      : trace_(trace),
        timeline_(timeline),
        roofs_(roofs),
        traits_(trace.strings.size()),
        known_(trace.strings.size(), 0) {
    for (const DeviceStep& step : timeline.steps) steps_.insert(step.step);
    result_.works.resize(timeline.works.size());
    result_.operators.resize(trace.operators.size());
  }

  BusySplit run() {
    count_uses();
    for (std::size_t op = 0; op < result_.operators.size(); ++op) estimate(op);
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) divide(i);
    find_chains();
    find_attention();
    find_optimizer();
    return std::move(result_);
  }

 private:
  const KernelTraits& traits(const Work& work) {
    const trace::StringId name = trace_.spans.name[work.span];
    if (!name.valid()) return none_;
    if (known_[name.index] == 0) {
      traits_[name.index] = kernel_traits(trace_.strings.text(name));
      known_[name.index] = 1;
    }
    return traits_[name.index];
  }

  // Whether a row is of a step that the timeline leaves out.
  bool is_left_out(std::size_t row) const {
    const int32_t step = trace_.spans.step[row];
    return step != trace::kNoStep && !steps_.contains(step);
  }

  void count_uses() {
    const trace::SpanTable& spans = trace_.spans;
    for (const Work& work : timeline_.works) {
      if (work.op == kNothing || is_left_out(work.span)) continue;
      OperatorUse& use = result_.operators[work.op];
      ++use.works;
      use.ledger_works += timeline_.in_ledger(work) ? 1 : 0;
      use.work_ns += static_cast<double>(work.ns());
      if (traits(work).vector_math) vector_math_.insert(work.op);
      if (traits(work).matrix_units) matrix_units_.insert(work.op);
    }
    for (std::size_t row = 0; row < spans.size(); ++row) {
      if (!spans.op[row].valid() || spans.category[row] != trace::Category::kOperator) continue;
      OperatorUse& use = result_.operators[spans.op[row].index];
      if (use.works == 0 || trace_.tracks[spans.track[row].index].rank != timeline_.rank || is_left_out(row))
        continue;
      if (++use.executions == 1) read_inputs(static_cast<uint32_t>(row), use);
    }
    for (OperatorUse& use : result_.operators)
      if (use.executions == 0) use.executions = use.works;
  }

  void read_inputs(uint32_t row, OperatorUse& use) {
    const trace::Call* call = trace::find_detail(trace_.calls, row);
    if (call == nullptr || !call->inputs.valid()) return;
    auto parsed = trace::parse_call_inputs(trace_.strings.text(call->inputs));
    if (parsed.ok()) use.inputs = std::move(*parsed);
    use.elements = largest_tensor(use.inputs);
  }

  MatrixMath math_of(std::size_t op, const OperatorUse& use) const {
    switch (trace_.operators[op].dtype) {
      case DType::kF64:
        return MatrixMath::kF64;
      case DType::kF16:
        return MatrixMath::kF16;
      case DType::kF8E4M3FN:
      case DType::kF8E5M2:
        return MatrixMath::kF8;
      case DType::kI8:
      case DType::kU8:
        return MatrixMath::kI8;
      case DType::kF32:
        break;
      default:
        return MatrixMath::kBf16;
    }
    if (vector_math_.contains(static_cast<uint32_t>(op))) return MatrixMath::kF32;
    if (matrix_units_.contains(static_cast<uint32_t>(op))) return MatrixMath::kTf32;
    // A kernel whose name tells nothing and that is faster than f32 can be runs on matrix units.
    const double rate = use.work_ns > 0 ? trace_.operators[op].flops * use.executions / use.work_ns * 1e9 : 0;
    return rate > roofs_.f32 ? MatrixMath::kTf32 : MatrixMath::kF32;
  }

  static double ns_for(double amount, double per_second) {
    return per_second > 0 ? amount / per_second * 1e9 : 0;
  }

  void estimate(std::size_t op) {
    OperatorUse& use = result_.operators[op];
    if (use.works == 0) return;
    const trace::Operator& row = trace_.operators[op];
    use.is_product = row.op_class == OperatorClass::kMatrix || row.op_class == OperatorClass::kConvolution;
    use.math = math_of(op, use);
    const double traffic = ns_for(row.bytes(), roofs_.dram);
    double arithmetic = 0, least = 0;
    if (use.is_product) {
      arithmetic = ns_for(row.kernel_flops(), roofs_.matrix_roof(use.math));
      least = ns_for(row.fewest_flops(), roofs_.matrix_roof(cheaper(use.math)));
    } else {
      arithmetic = ns_for(row.kernel_flops(), roofs_.vector_f32);
      least = arithmetic;
    }
    const bool wide = row.dtype == DType::kF64;
    use.roof_ns = std::max(arithmetic, traffic);
    use.floor_ns = std::max(least, wide ? traffic / 2 : traffic);
    use.memory_bound = is_memory_class(row.op_class);
  }

  // The arithmetic that training and inference do with: f64 is a leak, f32 products run as tf32.
  MatrixMath cheaper(MatrixMath math) const {
    const bool wide = math == MatrixMath::kF64 || math == MatrixMath::kF32;
    return wide && roofs_.tf32 > 0 ? MatrixMath::kTf32 : math;
  }

  // The share of its operator's floor and roof that a work has.
  double part_of_operator(const Work& work) const {
    const OperatorUse& use = result_.operators[work.op];
    return use.work_ns > 0 ? static_cast<double>(work.ns()) / use.work_ns * use.executions : 0;
  }

  static void set(WorkSplit& split, Cause cause, double floor_share, Reason reason, double target_ns) {
    floor_share = std::clamp(floor_share, 0.0, 1.0);
    split.share = {floor_share, 0, 0, 0, 0};
    split.share[at(cause)] = 1 - floor_share;
    split.reason = reason;
    split.cause = cause;
    split.target_ns = target_ns;
  }

  void divide(uint32_t i) {
    const Work& work = timeline_.works[i];
    WorkSplit& split = result_.works[i];
    const auto ns = static_cast<double>(work.ns());
    if (work.kind == WorkKind::kCollective || work.kind == WorkKind::kCopyToDevice ||
        work.kind == WorkKind::kCopyToHost || ns <= 0)
      return;
    const KernelTraits& kernel = traits(work);
    if (kernel.changes_layout) return set(split, Cause::kLayout, 0, Reason::kTransform, kGone);
    if (work.op == kNothing) return;  // time only
    const trace::Operator& op = trace_.operators[work.op];
    const OperatorUse& use = result_.operators[work.op];
    if (is_strided_copy(op, use)) return set(split, Cause::kLayout, 0, Reason::kStridedCopy, kGone);
    if (const double little = appended_share(op, use); little > 0)
      return set(split, Cause::kAvoidableTraffic, little, Reason::kAppend, little * ns);
    const double floor = use.floor_ns * part_of_operator(work);
    if (use.floor_ns <= 0) return;
    if (kernel.channels_first_norm && use.roof_ns * part_of_operator(work) < 0.7 * ns && is_image(use))
      return set(split, Cause::kLayout, floor / ns, Reason::kTransform,
                 std::min(ns, floor / kChannelsLastNorm));
    if (is_too_wide(op, use)) return divide_precision(split, work, use, floor);
    divide_slow(split, work, use, floor);
  }

  // Of a concatenation whose first tensor is nearly all of it: the share of the others; else 0.
  static double appended_share(const trace::Operator& op, const OperatorUse& use) {
    if (op.kind != "aten::cat" || use.inputs.empty() || use.inputs[0].items.size() < 2) return 0;
    const auto all = static_cast<double>(use.inputs[0].elements());
    const double rest = all > 0 ? 1 - static_cast<double>(use.inputs[0].items[0].elements()) / all : 1;
    return all >= kLargeAppend && rest <= kLittleAppended ? rest : 0;
  }

  // Input [n, c, h, w], filters [k, c, r, s] that tile it: out = patches · filters.
  static bool is_of_patches(const OperatorUse& use) {
    if (!is_image(use) || !is_tensor(use.inputs, 0) || !is_tensor(use.inputs, 1)) return false;
    const auto &image = use.inputs[0].dims, &filter = use.inputs[1].dims;
    if (image.size() != 4 || filter.size() != 4 || image[1] != filter[1] || filter[2] < 4) return false;
    const auto stride =
        std::find_if(use.inputs.begin(), use.inputs.end(), [&](const trace::CallInput& input) {
          return input.kind == trace::CallInput::Kind::kValue &&
                 input.value == fmt::format("[{},{}]", filter[2], filter[3]);
        });
    return stride != use.inputs.end() && image[2] % filter[2] == 0 && image[3] % filter[3] == 0;
  }

  static bool is_image(const OperatorUse& use) {
    return std::any_of(use.inputs.begin(), use.inputs.end(),
                       [](const trace::CallInput& input) { return input.dims.size() == 4; });
  }

  // Same type on both sides, another order of elements.
  static bool is_strided_copy(const trace::Operator& op, const OperatorUse& use) {
    if (op.op_class == OperatorClass::kLayout) return true;
    if (op.kind == "aten::copy_" && is_tensor(use.inputs, 0) && is_tensor(use.inputs, 1))
      return use.inputs[0].dtype == use.inputs[1].dtype && use.inputs[0].strides != use.inputs[1].strides &&
             use.inputs[0].dims == use.inputs[1].dims;
    return false;
  }

  bool is_too_wide(const trace::Operator& op, const OperatorUse& use) const {
    if (op.dtype == DType::kF64) return true;
    return use.is_product && use.math == MatrixMath::kF32 && roofs_.tf32 > 0;
  }

  void divide_precision(WorkSplit& split, const Work& work, const OperatorUse& use, double floor) {
    const auto ns = static_cast<double>(work.ns());
    const double own_roof = use.roof_ns * part_of_operator(work);
    // It keeps the part of its roof that it reaches now, and need not be better than good.
    const double reached = std::clamp(own_roof / ns, 0.2, use.is_product ? kGoodProduct : kGoodTraffic);
    const double target = std::min(ns, floor / reached);
    set(split, Cause::kPrecision, floor / ns,
        use.math == MatrixMath::kF64 || !use.is_product ? Reason::kDouble : Reason::kVectorMath, target);
    // What stays above the floor in the narrower type is inefficiency, as in any other kernel.
    const double slack = std::clamp((target - floor) / ns, 0.0, split.share[at(Cause::kPrecision)]);
    split.share[at(Cause::kPrecision)] -= slack;
    split.share[at(Cause::kKernelInefficiency)] += slack;
  }

  void divide_slow(WorkSplit& split, const Work& work, const OperatorUse& use, double floor) {
    const auto ns = static_cast<double>(work.ns());
    set(split, Cause::kKernelInefficiency, floor / ns, Reason::kNone, ns);
    split.cause = Cause::kFloor;
    const double fraction = use.roof_ns * part_of_operator(work) / ns;
    const bool attention = trace_.operators[work.op].kind.find("attention") != std::string::npos;
    const double poor = !use.is_product ? kPoorTraffic : attention ? kPoorAttention : kPoorProduct;
    const double good = !use.is_product ? kGoodTraffic : attention ? kGoodAttention : kGoodProduct;
    if (use.is_product && fraction < poor && is_of_patches(use))
      split.reason = Reason::kPatches;
    else if (use.is_product && is_odd(use))
      split.reason = Reason::kOddSize;
    else if (ns < kShortWorkNs || fraction >= poor)
      return;
    else
      split.reason = has_small_grid(work) ? Reason::kSmallGrid : Reason::kSlow;
    const double target = floor / good;
    if (target >= ns) return;
    split.cause = Cause::kKernelInefficiency;
    split.target_ns = target;
  }

  // A product of 16-bit numbers with a size that is no multiple of 8.
  bool is_odd(const OperatorUse& use) const {
    if (use.math != MatrixMath::kBf16 && use.math != MatrixMath::kF16) return false;
    for (const trace::CallInput& input : use.inputs) {
      if (input.kind != trace::CallInput::Kind::kTensor || input.dims.size() < 2) continue;
      const std::size_t count = input.dims.size();
      for (std::size_t k = count - 2; k < count; ++k)
        if (input.dims[k] > kAlignment && input.dims[k] % kAlignment != 0) return true;
    }
    return false;
  }

  bool has_small_grid(const Work& work) const {
    const trace::Launch* launch = trace::find_detail(trace_.launches, work.span);
    if (launch == nullptr || roofs_.multiprocessors == 0) return false;
    const double blocks = static_cast<double>(launch->grid[0]) * launch->grid[1] * launch->grid[2];
    return blocks > 0 && blocks < roofs_.multiprocessors;
  }

  // A pass over memory that a fusing compiler could join with its neighbours.
  bool can_fuse(const Work& work) {
    if (work.op == kNothing || work.kind == WorkKind::kCollective) return false;
    if (work.kind != WorkKind::kKernel && work.kind != WorkKind::kCopyOnDevice) return false;
    const OperatorUse& use = result_.operators[work.op];
    return use.memory_bound && !traits(work).generated && !traits(work).changes_layout &&
           use.elements >= 1024 && trace_.operators[work.op].phase != trace::Phase::kOptimizer;
  }

  static bool is_cast(const trace::Operator& op, const OperatorUse& use) {
    return op.kind == "aten::copy_" && is_tensor(use.inputs, 0) && is_tensor(use.inputs, 1) &&
           use.inputs[0].dtype != use.inputs[1].dtype;
  }

  // Runs of passes over as many elements on one stream: one of them must stay, the longest.
  void find_chains() {
    std::vector<std::vector<uint32_t>> chains(timeline_.streams.size());
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      std::vector<uint32_t>& chain = chains[work.stream];
      const bool fuses = can_fuse(work);
      if (!chain.empty() && fuses && is_small_beside(chain.back(), work)) continue;
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
    const double a = result_.operators[last.op].elements, b = result_.operators[work.op].elements;
    return last.step == work.step && std::max(a, b) <= 2 * std::min(a, b);
  }

  // What is computed of each row's sum between two passes over the rows, such as the root in a normalisation.
  bool is_small_beside(uint32_t before, const Work& work) const {
    const Work& last = timeline_.works[before];
    return last.step == work.step &&
           result_.operators[work.op].elements * kRowLength <= result_.operators[last.op].elements;
  }

  // The kernels of one operator belong together: a normalisation must pass twice.
  void close_chain(const std::vector<uint32_t>& chain) {
    if (chain.empty()) return;
    std::vector<std::pair<std::size_t, int64_t>> units;  // first place in the chain, time
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const Work& work = timeline_.works[chain[k]];
      const bool same = k > 0 && timeline_.works[chain[k - 1]].op == work.op &&
                        trace_.spans.name[timeline_.works[chain[k - 1]].span] != trace_.spans.name[work.span];
      if (!same) units.push_back({k, 0});
      units.back().second += work.ns();
    }
    const auto longest = std::max_element(units.begin(), units.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    for (auto unit = units.begin(); unit != units.end(); ++unit) {
      const std::size_t end = unit + 1 == units.end() ? chain.size() : (unit + 1)->first;
      for (std::size_t k = unit->first; k < end; ++k) {
        const uint32_t i = chain[k];
        const uint32_t op = timeline_.works[i].op;
        if (result_.works[i].cause == Cause::kLayout || result_.works[i].reason == Reason::kAppend) continue;
        const bool cast = is_cast(trace_.operators[op], result_.operators[op]);
        if (unit == longest && !(cast && units.size() == 1)) continue;
        set(result_.works[i], Cause::kAvoidableTraffic, 0, cast ? Reason::kCast : Reason::kChain, kGone);
      }
    }
  }

  // Passes over the scores of attention that a softmax over them gives away by their size.
  void find_attention() {
    std::set<double> sizes;
    std::set<int64_t> lengths;
    for (std::size_t op = 0; op < result_.operators.size(); ++op) {
      const OperatorUse& use = result_.operators[op];
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
    const OperatorUse& use = result_.operators[work.op];
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
      WorkSplit& split = result_.works[i];
      if (makes_scores(work, lengths)) {
        product_ns += static_cast<double>(work.ns());
        split.cause = Cause::kAvoidableTraffic;
        split.reason = Reason::kAttention;
        split.target_ns = kGone;
      } else if (can_fuse(work) && sizes.contains(result_.operators[work.op].elements)) {
        set(split, Cause::kAvoidableTraffic, 0, Reason::kAttention, kGone);
        if (is_softmax(trace_.operators[work.op])) softmaxes.push_back(i);
      }
    }
    for (uint32_t i : softmaxes)
      result_.works[i].target_ns = kFusedAttentionShare * product_ns / static_cast<double>(softmaxes.size());
  }

  // An optimizer of many small works. The first of a step stands for the fused kernel.
  void find_optimizer() {
    std::vector<std::pair<int32_t, std::vector<uint32_t>>> steps;
    for (std::size_t op = 0; op < result_.operators.size(); ++op)  // then the rest is not the optimizer
      if (result_.operators[op].works > 0 && trace_.operators[op].kind.find("_fused_") != std::string::npos)
        return;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      if (work.op == kNothing || work.kind == WorkKind::kCollective) continue;
      const trace::Operator& op = trace_.operators[work.op];
      if (op.phase != trace::Phase::kOptimizer) continue;
      if (traits(work).generated) continue;
      if (steps.empty() || steps.back().first != work.step) steps.push_back({work.step, {}});
      steps.back().second.push_back(i);
    }
    for (const auto& [step, works] : steps) {
      if (static_cast<int>(works.size()) < kUnfusedOptimizerWorks) continue;
      double total = 0;
      for (uint32_t i : works) total += static_cast<double>(timeline_.works[i].ns());
      for (uint32_t i : works)
        set(result_.works[i], Cause::kAvoidableTraffic, kFusedOptimizerShare, Reason::kOptimizer, kGone);
      result_.works[works.front()].target_ns = total * kFusedOptimizerShare;
    }
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  std::vector<KernelTraits> traits_;  // by string
  std::vector<char> known_;
  KernelTraits none_;
  std::set<int32_t> steps_;
  std::set<uint32_t> vector_math_, matrix_units_;  // operators by what their kernels are named after
  BusySplit result_;
};

}  // namespace

BusySplit split_busy(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs) {
  return Splitter(trace, timeline, roofs).run();
}

}  // namespace hone::analyze::device
