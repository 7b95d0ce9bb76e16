// A node as a plugin sees it: the C structs of include/hone/plugin.h, and the memory that they point into.
#pragma once

#include <deque>
#include <exception>
#include <string>
#include <vector>

#include "hone/plugin.h"

#include "core/result.h"
#include "core/tensor.h"
#include "graph/custom_operator.h"

namespace hone::plugin {

// Made once for a node, then read and given addresses as often as wanted, without allocation. For one thread at a time.
class NodeView {
 public:
  explicit NodeView(const graph::Node& node);  // whose operator is custom; keeps a copy
  NodeView(const NodeView&) = delete;          // the structs point at each other
  NodeView& operator=(const NodeView&) = delete;

  // In order, one for each of the node's; null where absent. `data`: what is known of an input beforehand, or null; it stays
  // where it is as long as this object.
  void add_input(const graph::TensorType* type, const Tensor* data);
  void add_output(const graph::TensorType* type);
  // All of them, for a node of a graph.
  void add_all(const graph::Graph& graph);

  void set_input(std::size_t i, const void* data) { set(inputs_, i, const_cast<void*>(data)); }
  void set_output(std::size_t i, void* data) { set(outputs_, i, data); }

  const hone_node& c() const { return c_; }
  const graph::CustomOperator& custom() const { return *node_.custom; }
  // The extent that a plugin gave: known, unknown, or one of the symbols of the inputs.
  Result<graph::Dim> dim(int64_t extent) const;

 private:
  struct Slot {
    hone_tensor tensor = {};
    std::vector<int64_t> shape;
  };

  void fill(Slot& slot, const graph::TensorType& type, const Tensor* data);
  static void set(std::vector<hone_tensor*>& tensors, std::size_t i, void* data) {
    if (tensors[i] != nullptr) tensors[i]->data = data;
  }
  int64_t extent_of(const graph::Dim& dim);
  void add_attribute(const std::string& name, const Attribute& attribute);
  void refresh();

  graph::Node node_;
  hone_node c_ = {};
  std::deque<Slot> slots_;  // never move
  std::vector<hone_tensor*> inputs_, outputs_;
  std::vector<hone_attribute> attributes_;
  std::deque<std::vector<const char*>> strings_;
  std::vector<std::string> symbols_;
};

// What a call of the plugin's said: nothing, or its error's text. An exception, which must not leave a plugin, is one, too,
// where plugin and hone share a C++ runtime.
template <typename Call>
Status called(const Call& call) {
  hone_error error = {};
  try {
    if (call(&error) == 0) return {};
  } catch (const std::exception& thrown) {
    return invalid(std::string("threw an exception: ") + thrown.what());
  }
  error.text[sizeof error.text - 1] = '\0';
  return invalid(error.text[0] != '\0' ? error.text : "failed without saying why (error->text is empty)");
}

// "plugin msda 1.0.2".
std::string plugin_text(const graph::CustomOperator& custom);

}  // namespace hone::plugin
