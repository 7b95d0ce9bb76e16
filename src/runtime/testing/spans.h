// The spans that a run tells of.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "core/scope.h"

namespace hone::runtime::testing {

class Spans : public ScopeListener {
 public:
  Spans() : before_(set_scope_listener(this)) {}
  ~Spans() override { set_scope_listener(before_); }
  void on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept override {
    EXPECT_LE(start_ns, end_ns);
    if (kind == Kind::kStep) ++steps;
    if (kind == Kind::kOperator) operators.push_back(id);
  }
  int steps = 0;
  std::vector<uint32_t> operators;

 private:
  ScopeListener* before_;
};

}  // namespace hone::runtime::testing
