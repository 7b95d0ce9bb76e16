#include "analyze/device/busy/weight_gathers.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/device/testing/hand_made_view.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A step as letters: A, B gather 200 elements of a module with FSDP's ranges around, each a copy that packs,
// the gather, and a copy that unpacks; U the same of a module that the ranges do not name; a, c, t gather
// 200, 100 and 20 elements without ranges; m, n are products with weights of 200 and 100 elements, x one of
// 20; p copies 200 elements; f, b, o other works of the forward pass, the backward pass and the optimizer; s
// a reduce-scatter; | the next step.
class WeightGatherProgram {
 public:
  explicit WeightGatherProgram(std::string_view letters, double memory_bytes = 0) {
    const trace::TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    stream_ = add_stream(trace_, process, 7);
    timeline_.threads = {thread_};
    timeline_.devices = {0};
    if (memory_bytes > 0) trace_.meta.devices.push_back({0, 0, "a device", memory_bytes, 132, 9, 0});
    for (const char letter : letters) add(letter);
  }

  // The works of the program, an x for each that is gathered again.
  std::string repeated() const {
    std::string text;
    for (const WorkSplit& work : fabricate::found_by(find_repeated_gathers, trace_, timeline_, uses_)) {
      const bool again = work.rule == Rule::kRepeatedWeightGathers;
      text += again ? 'x' : '-';
      EXPECT_EQ(work.target_ns, again ? kGone : 0);
    }
    return text;
  }

 private:
  void add(char letter) {
    switch (letter) {
      case '|':
        ++step_;
        return;
      case 'A':
      case 'B':
        return add_named(std::string(" (layers.") + letter + ")");
      case 'U':
        return add_named("");
      case 'a':
        return add_collective("_allgather_base", 200);
      case 'c':
        return add_collective("_allgather_base", 100);
      case 't':
        return add_collective("_allgather_base", 20);
      case 's':
        return add_collective("reduce_scatter_tensor_coalesced", 200);
      case 'm':
        return add_work("aten::mm", trace::Phase::kForward, {{10, 20}, {20, 10}});
      case 'n':
        return add_work("aten::addmm", trace::Phase::kForward, {{10}, {10, 10}, {10, 10}});
      case 'x':
        return add_work("aten::mm", trace::Phase::kForward, {{100, 10}, {10, 2}});
      case 'p':
        return add_work("aten::split_with_sizes_copy", trace::Phase::kForward, {{200}});
      default:
        return add_work("aten::relu",
                        letter == 'b'   ? trace::Phase::kBackward
                        : letter == 'o' ? trace::Phase::kOptimizer
                                        : trace::Phase::kForward,
                        {{7}});
    }
  }

  void add_named(const std::string& module) {
    const double from = host_;
    add_work("aten::_foreach_copy_", trace::Phase::kForward, {{100}});
    add_collective("_allgather_base", 200);
    add_range("FSDP::all_gather" + module, from);
    const double unpacks_from = host_;
    add_work("aten::split_with_sizes_copy", trace::Phase::kForward, {{200}});
    add_range("FSDP::all_gather_copy_out" + module, unpacks_from);
  }

  void add_range(const std::string& name, double from) {
    add_span(trace_, {.on = thread_,
                      .category = trace::Category::kRegion,
                      .name = name,
                      .from_us = from,
                      .us = host_ - from,
                      .step = step_});
    host_ += 1;
  }

  void add_work(const std::string& kind, trace::Phase phase,
                const std::vector<std::vector<int64_t>>& shapes) {
    trace::Operator row;
    row.kind = kind;
    row.phase = phase;
    row.op_class = kind.ends_with("mm") ? trace::OperatorClass::kMatrix : trace::OperatorClass::kPointwise;
    trace_.add_operator(row);
    OperatorUse use;
    for (const std::vector<int64_t>& dims : shapes) {
      trace::CallInput input;
      input.kind = trace::CallInput::Kind::kTensor;
      input.dims = dims;
      use.inputs.push_back(input);
      use.elements = std::max(use.elements, static_cast<double>(input.elements()));
    }
    uses_.rows.push_back(use);
    Work work;
    work.op = static_cast<uint32_t>(trace_.operators.size() - 1);
    work.execution = timeline_.executions++;
    launch(work);
  }

  void add_collective(const std::string& name, double elements) {
    Work work;
    work.kind = WorkKind::kCollective;
    launch(work);
    describe_collective(trace_, timeline_.works.back().span, name, elements / 2);
    trace_.collectives.back().elements_out = elements;
  }

  void launch(Work work) {
    HostCall call;
    call.span = add_span(trace_, {.on = thread_,
                                  .category = trace::Category::kRuntime,
                                  .name = "cudaLaunchKernel",
                                  .from_us = host_,
                                  .us = 2,
                                  .step = step_});
    call.start_ns = trace_.spans.start_ns[call.span];
    call.end_ns = call.start_ns + trace_.spans.duration_ns[call.span];
    host_ += 3;
    work.call = static_cast<uint32_t>(timeline_.calls.size());
    timeline_.calls.push_back(call);
    work.step = step_;
    work.span = add_span(trace_, {.on = stream_, .from_us = host_, .us = 1, .step = step_});
    timeline_.launched.push_back(static_cast<uint32_t>(timeline_.works.size()));
    timeline_.works.push_back(work);
  }

  trace::Trace trace_;
  trace::TrackId thread_, stream_;
  RankTimeline timeline_;
  OperatorUses uses_;
  double host_ = 0;
  int32_t step_ = 0;
};

TEST(RepeatedGathers, OfANamedModuleAreAllButTheFirst) {
  EXPECT_EQ(WeightGatherProgram("AfBfAfBfAfBf").repeated(),
            "--------"
            "xxx-xxx-"
            "xxx-xxx-");
}

// The next module's weights are gathered while those of this one are read.
TEST(RepeatedGathers, MayBeginAheadOfNeed) {
  EXPECT_EQ(WeightGatherProgram("ABfAfBfAfBf").repeated(),
            "-------"
            "xxx-xxx-"
            "xxx-xxx-");
}

TEST(RepeatedGathers, AreCountedInEveryStepAnew) {
  EXPECT_EQ(WeightGatherProgram("AfAf|AfAf").repeated(), std::string(16, '-'));
  EXPECT_EQ(WeightGatherProgram("AfAfAf|AfAfAf").repeated(), "----xxx-xxx-----xxx-xxx-");
}

// Two models of one shape, or forward and backward: twice is no turn.
TEST(RepeatedGathers, AreAtLeastThreeOfTheSame) {
  EXPECT_EQ(WeightGatherProgram("AfBfAfBf").repeated(), std::string(16, '-'));
}

TEST(RepeatedGathers, AreNotThoseOfTraining) {
  EXPECT_EQ(WeightGatherProgram("AfbAfbAfbAfb").repeated(), std::string(20, '-'));
  EXPECT_EQ(WeightGatherProgram("AfoAfoAfo").repeated(), std::string(15, '-'));
  EXPECT_EQ(WeightGatherProgram("AfsAfsAfs").repeated(), std::string(15, '-'));
}

// What is generated before training is still generated.
TEST(RepeatedGathers, AreFoundBesideTraining) {
  EXPECT_EQ(WeightGatherProgram("AfAfAfbAbs").repeated(), "----xxx-xxx-------");
}

// The root has no name; where nothing has, they may be the layers of one turn.
TEST(RepeatedGathers, OfNamelessModulesAreOnlyThoseOfTheRoot) {
  EXPECT_EQ(WeightGatherProgram("UfUfUfUf").repeated(), std::string(16, '-'));
  EXPECT_EQ(WeightGatherProgram("UfAfUfAfUfAf").repeated(),
            "--------"
            "xxx-xxx-"
            "xxx-xxx-");
}

TEST(RepeatedGathers, OfModelsThatDoNotFitIntoMemoryAreNone) {
  const double of_two_modules = 2 * 200 * 4;
  EXPECT_EQ(WeightGatherProgram("AfBfAfBfAfBf", of_two_modules).repeated(), std::string(24, '-'));
  EXPECT_NE(WeightGatherProgram("AfBfAfBfAfBf", 2 * of_two_modules).repeated(), std::string(24, '-'));
}

TEST(RepeatedGathers, WithoutNamesAreAPatternOfSizesThatProductsReadAsWeights) {
  EXPECT_EQ(WeightGatherProgram("amcnamcnamcn").repeated(), "----x-x-x-x-");
  EXPECT_EQ(WeightGatherProgram("amacnamacnamacn").repeated(),
            std::string(15, '-'));  // products read less than is gathered
  EXPECT_EQ(WeightGatherProgram("amamcnamamcnamamcn").repeated(), "------x-x-x-x-x-x-");
}

TEST(RepeatedGathers, WithoutNamesTakeTheCopiesRightBesideThem) {
  EXPECT_EQ(WeightGatherProgram("apmcnapmcnapmcn").repeated(), "-----xx-x-xx-x-");
  EXPECT_EQ(WeightGatherProgram("amcpnamcpnamcpn").repeated(),
            "-----x-x--x-x--");  // 100 were gathered, 200 are copied
}

TEST(RepeatedGathers, OfEqualSizesMayBeOfAnything) {
  EXPECT_EQ(WeightGatherProgram("amamamam").repeated(), std::string(8, '-'));
}

TEST(RepeatedGathers, TwoTurnsAreNoPattern) {
  EXPECT_EQ(WeightGatherProgram("amcnamcn").repeated(), std::string(8, '-'));
}

TEST(RepeatedGathers, PatternsThatEndWithinATurnAreNone) {
  EXPECT_EQ(WeightGatherProgram("amcnamcnamcnam").repeated(), std::string(14, '-'));
}

// A model split over ranks by its tensors gathers activations in every layer and the logits in every turn.
TEST(RepeatedGathers, OfActivationsAreNone) {
  EXPECT_EQ(WeightGatherProgram("axaxtxaxaxtxaxaxtx").repeated(), std::string(18, '-'));
  EXPECT_EQ(WeightGatherProgram("ammmcmammmcmammmcm").repeated(), std::string(18, '-'));
}

}  // namespace
}  // namespace hone::analyze::device
