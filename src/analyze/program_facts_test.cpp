#include "analyze/program_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/advice_words.h"

namespace hone::analyze {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

trace::TrackId add_thread(trace::Trace& trace, int pid) {
  trace.add_track({trace::TrackKind::kThread, "thread", {}, pid, pid, 0, -1});
  return {static_cast<uint32_t>(trace.tracks.size() - 1)};
}

void add_input_sample(trace::Trace& trace, trace::TrackId track) {
  trace.stacks.frames.push_back({.role = trace::FrameRole::kInput});
  const trace::FrameId frame{static_cast<uint32_t>(trace.stacks.frames.size() - 1)};
  trace.stacks.add({.track = track}, std::span(&frame, 1), {});
}

TEST(ProgramFacts, CountTheProcessesThatPrepareBatches) {
  trace::Trace trace;
  const trace::TrackId main = add_thread(trace, 10), first = add_thread(trace, 11),
                       second = add_thread(trace, 12);
  for (int i = 0; i < 3; ++i)
    trace.spans.add({i * 10,
                     5,
                     main,
                     trace.strings.intern("aten::mm"),
                     trace::Category::kOperator,
                     trace::kNoStep,
                     {},
                     0});
  for (const trace::TrackId track : {main, first, second, second}) add_input_sample(trace, track);
  EXPECT_EQ(facts_of(trace).loaders, 2);
}

TEST(ProgramFacts, CountNoProcessesOfAnEpochThatHasEnded) {
  trace::Trace trace;
  const trace::TrackId main = add_thread(trace, 10);
  trace.spans.add(
      {0, 5, main, trace.strings.intern("aten::mm"), trace::Category::kOperator, trace::kNoStep, {}, 0});
  for (int pid = 11; pid < 19; ++pid) {
    const trace::TrackId track = add_thread(trace, pid);
    for (const int time : {0, 50}) {
      add_input_sample(trace, track);
      trace.stacks.samples.back().time_ns = time + 100 * ((pid - 11) / 4);
    }
  }
  EXPECT_EQ(facts_of(trace).loaders, 4);
}

TEST(ProgramFacts, AreToldOfTheLoaderByTheRecorderThatSawIt) {
  trace::Trace trace;
  trace.meta.loaders = {{.loader = 3, .workers = 6, .start_ns = 5}};
  trace.meta.marks = {{0, trace::StepMarkKind::kData, "DataLoader", 10, 1, 0}};
  EXPECT_EQ(facts_of(trace).loaders, 6);
}

TEST(ProgramFacts, TellTheClassOfTheOptimizerByItsMarksOrItsRange) {
  trace::Trace trace;
  EXPECT_EQ(facts_of(trace).optimizer, "");
  trace.strings.intern("Optimizer.step#Adagrad.step");
  EXPECT_EQ(facts_of(trace).optimizer, "Adagrad");
  trace.meta.marks = {{0, trace::StepMarkKind::kOptimizer, "Lion", 0, 1, 0}};
  EXPECT_EQ(facts_of(trace).optimizer, "Lion");
}

TEST(Advice, OnOptimizersIsOfTheProgramsOwn) {
  ProgramFacts program;
  EXPECT_THAT(optimizer_advice(program), HasSubstr("fused=True"));
  program.optimizer = "SGD";
  EXPECT_THAT(optimizer_advice(program),
              AllOf(HasSubstr("torch.optim.SGD(…, fused=True)"), Not(HasSubstr("Adam"))));
  program.optimizer = "Lion";
  EXPECT_THAT(optimizer_advice(program), AllOf(HasSubstr("Lion"), Not(HasSubstr("fused=True"))));
}

TEST(Advice, OnInputDoesNotAskForProcessesThatAreThere) {
  ProgramFacts program;
  EXPECT_THAT(batch_advice(program, true), HasSubstr("DataLoader(num_workers"));
  program.loaders = 2;
  EXPECT_THAT(batch_advice(program, true), AllOf(HasSubstr("2 processes"), Not(HasSubstr("DataLoader("))));
}

TEST(Advice, NamesNothingThatTheProgramHasNot) {
  ProgramFacts program;
  EXPECT_THAT(cpu_kernel_advice(program), Not(HasSubstr("convolutions")));
  EXPECT_THAT(cpu_order_advice(program), Not(HasSubstr("channels_last")));
  EXPECT_THAT(small_operator_advice(program), Not(HasSubstr("optimizers")));
  program.convolves = program.updates = true;
  EXPECT_THAT(cpu_kernel_advice(program), HasSubstr("channels_last for convolutions"));
  EXPECT_THAT(cpu_order_advice(program), HasSubstr("channels_last"));
  EXPECT_THAT(small_operator_advice(program), HasSubstr("fused optimizers"));
  program.fused_update = true;
  EXPECT_THAT(small_operator_advice(program), Not(HasSubstr("optimizers")));
}

TEST(Advice, AsksNoProfilerForMoreWhereHoneRecorded) {
  ProgramFacts program;
  EXPECT_THAT(unnamed_code_advice(program, false), HasSubstr("with_stack=True"));
  program.observed = true;
  EXPECT_THAT(unnamed_code_advice(program, false), HasSubstr("--python-stacks"));
  EXPECT_EQ(unnamed_code_advice(program, true), "");
}

TEST(Advice, BeginsWithWhatToDo) {
  for (const int loaders : {0, 1, 3})
    for (const char* optimizer : {"", "AdamW", "Lion"}) {
      ProgramFacts program;
      program.loaders = loaders;
      program.optimizer = optimizer;
      for (const std::string& text :
           {batch_advice(program, true), optimizer_advice(program), cpu_kernel_advice(program),
            small_operator_advice(program), cpu_order_advice(program)})
        EXPECT_TRUE(words::begins_with_an_action(text)) << text;
    }
}

}  // namespace
}  // namespace hone::analyze
