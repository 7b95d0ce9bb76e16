// The plugins that tests load, and models of their operators.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/test_models.h"

#include "core/testing/source_folder.h"
#include "model/onnx/test_model.h"

namespace hone::testing_support {

inline std::string example_plugin() { return (build_folder() / "plugins" / "libmsda.so").string(); }
// In C; what is wrong with it HONE_TEST_PLUGIN names (fixture.c).
inline std::string fixture_plugin() { return (build_folder() / "plugins" / "libfixture.so").string(); }

// x: f32[3,4] → test.Scale, node "scale" → y: f32[3,4], importing `version` of domain test.
inline std::string scale_model(const std::vector<model::testing::Proto>& attributes = {}, int64_t version = 1,
                               const std::vector<model::testing::Proto>& functions = {}) {
  using namespace model::testing;
  TestGraph graph;
  graph.nodes = {node("Scale", {"x"}, {"y"}, attributes, "scale", "test")};
  graph.inputs = {value_info("x", {3, 4})};
  graph.outputs = {value_info("y", {3, 4})};
  Proto proto;
  proto.integer(1, 10).message(7, graph.to_proto()).message(8, opset_import("", 21));
  proto.message(8, opset_import("test", version));
  for (const Proto& function : functions) proto.message(25, function);
  return proto.text();
}

}  // namespace hone::testing_support
