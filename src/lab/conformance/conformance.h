// Runs ONNX's backend tests on a provider and judges the results: passed, failed, or unsupported with the
// operator's name.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/custom_operator.h"
#include "runtime/provider.h"

namespace hone::lab {

enum class ConformanceStatus : uint8_t { kPassed, kFailed, kUnsupported };

struct ConformanceTest {
  std::string name;
  ConformanceStatus status = ConformanceStatus::kFailed;
  std::string detail;  // why it failed, "unsupported: <operator>", or how it ran
};

struct ConformanceReport {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
  std::vector<ConformanceTest> tests;
};

struct ConformanceOptions {
  std::string filter;                     // only tests whose name contains this
  bool optimise = false;                  // through the pass pipeline first, as `hone lab` would run them
  graph::CustomOperators operators = {};  // of plugins
  // Told how far it is; false cancels.
  std::function<bool(double fraction, const std::string& test)> progress;
};

Result<ConformanceReport> run_conformance(const std::filesystem::path& folder,
                                          const runtime::Provider& provider,
                                          const ConformanceOptions& options = {});

// conformance.json of DESIGN §3 (schema 1).
std::string conformance_json(const ConformanceReport& report);

}  // namespace hone::lab
