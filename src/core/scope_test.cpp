// Scope marks reach the listener that was installed when they began, and nobody otherwise.
#include "core/scope.h"

#include <vector>

#include <gtest/gtest.h>

namespace hone {
namespace {

struct Span {
  ScopeListener::Kind kind;
  uint32_t id;
  int64_t start_ns;
  int64_t end_ns;
};

class Recorder : public ScopeListener {
 public:
  void on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept override {
    spans.push_back({kind, id, start_ns, end_ns});
  }
  std::vector<Span> spans;
};

TEST(Scope, NestedSpansEndInnermostFirst) {
  Recorder recorder;
  ScopeListener* before = set_scope_listener(&recorder);
  {
    const Scope step(ScopeListener::Kind::kStep, 1);
    const Scope node(ScopeListener::Kind::kOperator, 2);
  }
  EXPECT_EQ(set_scope_listener(before), &recorder);
  ASSERT_EQ(recorder.spans.size(), 2u);
  const Span& node = recorder.spans[0];
  const Span& step = recorder.spans[1];
  EXPECT_EQ(node.id, 2u);
  EXPECT_EQ(node.kind, ScopeListener::Kind::kOperator);
  EXPECT_EQ(step.id, 1u);
  EXPECT_LE(step.start_ns, node.start_ns);
  EXPECT_LE(node.start_ns, node.end_ns);
  EXPECT_LE(node.end_ns, step.end_ns);
}

TEST(Scope, ASpanBegunUnheardStaysUnheard) {
  Recorder recorder;
  {
    const Scope early(ScopeListener::Kind::kRegion, 1);
    set_scope_listener(&recorder);
  }
  set_scope_listener(nullptr);
  { const Scope late(ScopeListener::Kind::kRegion, 2); }
  EXPECT_TRUE(recorder.spans.empty());
}

}  // namespace
}  // namespace hone
