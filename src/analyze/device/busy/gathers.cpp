#include "analyze/device/busy/gathers.h"

#include <algorithm>

#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

// What is left after reducing first, as a part of what is read now.
constexpr double kLittle = 1.0 / 16;
// A gather of almost nothing takes this long.
constexpr double kSmallGatherNs = 20'000;

struct Gather {
  uint32_t work = kNothing;
  double elements = 0;  // of all ranks together
  double ranks = 1;
};

class WholeGatherFinder : public LaunchWalk {
 public:
  explicit WholeGatherFinder(const View& view) : LaunchWalk(view) {}

 private:
  Gather gather_of(uint32_t work) const {
    const trace::Collective* detail = view_.collective(work);
    if (detail == nullptr || !detail->name.valid() || detail->elements_in <= 0) return {};
    const bool gathers = detail->kind == trace::CollectiveKind::kAllGather;
    const double ranks = detail->elements_out / detail->elements_in;
    return gathers && ranks > 1 ? Gather{work, detail->elements_out, ranks} : Gather{};
  }

  static bool reduces(const trace::Operator& op, const OperatorUse& use, double elements) {
    return op.op_class == trace::OperatorClass::kReduction && use.largest_input == elements &&
           op.bytes_written > 0 && op.bytes_written <= kLittle * op.bytes_read;
  }

  void look_at(uint32_t work) override {
    if (view_.work(work).kind == WorkKind::kCollective) {
      gather_ = gather_of(work);
      return;
    }
    if (gather_.work == kNothing || !view_.has_operator(work)) return;
    const trace::Operator& op = view_.operator_of(work);
    const OperatorUse& use = view_.use_of(work);
    if (use.largest_input != gather_.elements) return;
    if (reduces(op, use, gather_.elements)) {
      const double ns = view_.ns(gather_.work);
      const double carried = ns * op.bytes_written / op.bytes_read;
      claim(Rule::kWholeGathers, {along(gather_.work, std::min(ns, std::max(kSmallGatherNs, carried))),
                                  along(work, view_.ns(work) / gather_.ranks)});
    }
    gather_ = {};
  }

  Gather gather_;  // the last one, until something reads its result
};

}  // namespace

Claims find_whole_gathers(const View& view) { return WholeGatherFinder(view).run(); }

}  // namespace hone::analyze::device
