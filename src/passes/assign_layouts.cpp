#include "passes/assign_layouts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr int64_t kFewChannels = 4;  // an image's channels: padding them to a block would waste most of it

bool is_convolution(const Node& node) {
  return graph::product_kind(node) == graph::GroupKind::kConvolution ||
         is_group(node, graph::GroupKind::kConvolution);
}

// Operators that may work in any layout: what they do does not depend on where elements lie.
bool follows_layout(const Node& node) {
  return is_group(node, graph::GroupKind::kPointwise) || graph::keeps_layout(node);
}

// The target's layout for what its convolutions read, or channels side by side without blocks: where a network that is
// trained has so few channels that blocks would be filled up with zeros, in which every operator of the step would work.
Layout layout_for(const graph::Graph& graph, const graph::Capabilities& takes) {
  const bool converted = std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return is_convolution(node) && takes.converted_products.holds(graph.type(node.inputs[0]).dtype);
  });
  if (converted) return takes.converted_layout;
  const Layout wanted = takes.convolution_layout;
  constexpr double kMostPadding = 1.1;  // elements that blocks take for each that counts
  if (channel_block(wanted) == 1) return wanted;
  double elements = 0, stored = 0;
  bool trains = false;
  for (const Node& node : graph.nodes()) {
    trains |= node.op == "hone.ConvWeightGradient";
    if (!is_convolution(node) || !graph.type(node.outputs[0]).is_static()) continue;
    const Shape shape = graph.type(node.outputs[0]).shape();
    if (shape.size() < 3 || shape[1] <= kFewChannels) continue;
    elements += static_cast<double>(element_count(shape));
    stored += static_cast<double>(storage_elements(shape, wanted));
  }
  return trains && stored > kMostPadding * elements ? Layout::kChannelsLast : wanted;
}

class Assigner {
 public:
  Assigner(const graph::Graph& graph, const PassContext& context)
      : graph_(graph),
        context_(context),
        builder_(graph.name()),
        layout_(layout_for(graph, context.target.takes)) {}

  Result<PassOutcome> run() {
    for (ValueId input : graph_.inputs())
      native_[input] = builder_.input(graph_.value(input).name, graph_.type(input));
    for (const Node& node : graph_.nodes()) HONE_CHECK(place(node));
    std::vector<ValueId> outputs;
    for (ValueId output : graph_.outputs()) outputs.push_back(in_layout(output, Layout::kPlain));
    builder_.set_outputs(outputs);
    builder_.set_states(graph_.states());
    // The outputs keep their names, also where a Reorder now gives them.
    for (std::size_t i = 0; i < outputs.size(); ++i)
      builder_.swap_names(outputs[i], native_of(graph_.outputs()[i]));
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // The value of the new graph that holds `value` in `layout`: as it is, reordered before, or through a new
  // Reorder. What no node makes is reordered for its first reader.
  ValueId in_layout(ValueId value, Layout layout, const Node* reader = nullptr) {
    const ValueId native = native_of(value);
    if (builder_.type(native).layout == layout) return native;
    const auto key = std::pair(value, layout);
    if (const auto known = reordered_.find(key); known != reordered_.end()) return known->second;
    const ValueId made =
        builder_.add("hone.Reorder", {native}, {{"layout", std::string(layout_name(layout))}},
                     fmt::format("{}.{}", graph_.value(value).name, layout_name(layout)));
    Node& node = builder_.mutable_node(builder_.value(made).producer);
    const graph::Value& source = graph_.value(value);
    if (source.producer.valid())
      node.provenance = graph_.node(source.producer).provenance;
    else if (reader != nullptr)
      node.provenance = reader->provenance;
    return reordered_[key] = made;
  }

  ValueId native_of(ValueId value) {
    const auto known = native_.find(value);
    if (known != native_.end()) return known->second;
    const graph::Value& constant = graph_.value(value);  // everything else was placed before its readers
    const ValueId made = builder_.constant(constant.name, *constant.constant);
    return native_[value] = made;
  }

  Status place(const Node& node) {
    if (graph::reads_layouts(node)) return place_reader(node);
    for (const auto& [in, out] : choices(node)) {
      auto made = retyped(node, in, out);
      if (!made || !runs(*made, node, in)) continue;
      outcome_.done.push_back({node.name, fmt::format("{} → {}", layout_name(in), layout_name(out))});
      return emit(node, std::move(*made), in);
    }
    if (is_convolution(node))
      outcome_.missed.push_back(
          {node.name, fmt::format("stays plain: no kernel for {}", layout_name(layout_))});
    return emit(node, node, Layout::kPlain);
  }

  // Images as they come, or else in the target's layout where a convolution's gradients are to be had; the result is plain.
  Status place_reader(const Node& node) {
    Node copy = node;
    for (std::size_t i = 0; i < copy.inputs.size(); ++i)
      if (copy.inputs[i].valid() && moves(node.inputs[i])) copy.inputs[i] = native_of(node.inputs[i]);
    if (reads(node, copy)) return emit_reader(node, std::move(copy));
    if (node.op != "hone.ConvWeightGradient" || !moves(node.inputs[0]) || !moves(node.inputs[1]))
      return emit(node, node, Layout::kPlain);
    if (!reads(node, layout_)) return emit(node, node, Layout::kPlain);
    for (std::size_t i = 0; i < copy.inputs.size(); ++i)
      copy.inputs[i] = in_layout(node.inputs[i], layout_, &node);
    return emit_reader(node, std::move(copy));
  }

  // `node` with images of the new graph.
  Status emit_reader(const Node& node, Node copy) {
    for (std::size_t i = 0; i < copy.inputs.size(); ++i)
      if (copy.inputs[i].valid() && !moves(node.inputs[i]))
        copy.inputs[i] = in_layout(node.inputs[i], Layout::kPlain, &node);
    const std::vector<std::string> names{graph_.value(node.outputs[0]).name};
    const std::vector<graph::TensorType> declared{graph_.type(node.outputs[0])};
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(copy), names, declared));
    native_[node.outputs[0]] = outputs[0];
    return {};
  }

  // Asks the target about the node alone, with its images as they are in `placed`, or all in one layout.
  bool reads(const Node& node, const Node& placed) const {
    return reads(node, [&](std::size_t i) { return builder_.type(placed.inputs[i]).layout; });
  }
  bool reads(const Node& node, Layout layout) const {
    return reads(node, [&](std::size_t) { return layout; });
  }
  bool reads(const Node& node, const std::function<Layout(std::size_t)>& layout_of) const {
    std::vector<const graph::Value*> inputs;
    std::vector<graph::TensorType> types;
    bool any = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      inputs.push_back(input.valid() ? &graph_.value(input) : nullptr);
      types.push_back(input.valid() ? graph_.type(input) : graph::TensorType{});
      if (!input.valid() || !moves(input)) continue;
      types.back().layout = layout_of(i);
      any = any || types.back().layout != Layout::kPlain;
    }
    if (!any && node.op != "hone.ConvWeightGradient") return false;
    const std::vector<std::string> names{graph_.value(node.outputs[0]).name};
    const auto alone = graph_of_one(node, inputs, types, names);
    return alone.ok() && !alone->nodes().empty() && context_.target.runs(*alone, alone->nodes()[0]);
  }

  // Layouts of inputs and of the result worth trying, best first; none: plain.
  std::vector<std::pair<Layout, Layout>> choices(const Node& node) {
    const bool whole =
        std::all_of(node.outputs.begin(), node.outputs.end(), [](ValueId v) { return v.valid(); });
    if (!whole || !node.has_input(0)) return {};
    const graph::TensorType& out = graph_.type(node.outputs[0]);
    const graph::TensorType& in = graph_.type(node.inputs[0]);
    if (!lays_out(out.dtype) || !lays_out(in.dtype) || !out.is_static() || !in.is_static() || out.rank() < 4)
      return {};
    if (is_convolution(node)) {
      if (in.rank() != out.rank()) return {};
      if (in.shape()[1] <= kFewChannels) {
        if (channel_block(layout_) == 1) return {{Layout::kPlain, layout_}, {layout_, layout_}};
        return {{Layout::kPlain, layout_}};
      }
      if (out.shape()[1] <= kFewChannels && channel_block(layout_) > 1)
        return {{layout_, Layout::kPlain}, {layout_, layout_}};
      return {{layout_, layout_}, {layout_, Layout::kPlain}};
    }
    if (!follows_layout(node)) return {};
    // Worth it only where some input comes in that layout anyway.
    for (ValueId input : node.inputs) {
      if (input.valid() && !graph_.value(input).is_constant() &&
          builder_.type(native_of(input)).layout == layout_)
        return {{layout_, layout_}};
    }
    return {};
  }

  // Whether an input of a node moves to the layout with it: an image, not a parameter.
  bool moves(ValueId value) const {
    const graph::TensorType& type = graph_.type(value);
    return !graph_.value(value).is_constant() && lays_out(type.dtype) && type.is_static() && type.rank() >= 4;
  }

  bool lays_out(DType dtype) const { return context_.target.takes.laid_out.holds(dtype); }

  // `node` for inputs in layout `in`: with the attribute that gives the result `out`, its body made anew for
  // a group.
  std::optional<Node> retyped(const Node& node, Layout in, Layout out) const {
    Node copy = node;
    if (!graph::is_group(node)) {
      if (is_convolution(node) && in != out)
        copy.attributes.set("output_layout", std::string(layout_name(out)));
      return copy;
    }
    const graph::Graph& body = *node.bodies[0];
    GraphBuilder inner(body.name());
    std::unordered_map<ValueId, ValueId> map;
    const bool convolution = is_convolution(node);
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
      const ValueId input = body.inputs()[i];
      graph::TensorType type = body.type(input);
      const bool anchor_input = convolution && body.nodes()[0].inputs[0] == input;
      const bool weights = convolution && body.nodes()[0].inputs[1] == input;
      if (moves(node.inputs[i]) && !weights) type.layout = convolution && !anchor_input ? out : in;
      map[input] = inner.input(body.value(input).name, type);
    }
    for (const Node& part : body.nodes()) {
      Node moved = part;
      for (ValueId& input : moved.inputs) {
        if (input.valid())
          input = map.contains(input) ? map[input]
                                      : inner.constant(body.value(input).name, *body.value(input).constant);
      }
      if (is_convolution(part) && in != out)
        moved.attributes.set("output_layout", std::string(layout_name(out)));
      std::vector<std::string> names;
      for (ValueId output : part.outputs) names.push_back(output.valid() ? body.value(output).name : "");
      auto results = inner.try_add(std::move(moved), names);
      if (!results.ok()) return std::nullopt;
      for (std::size_t i = 0; i < part.outputs.size(); ++i) map[part.outputs[i]] = (*results)[i];
    }
    for (ValueId output : body.outputs()) inner.output(map.at(output));
    auto finished = std::move(inner).finish();
    if (!finished.ok()) return std::nullopt;
    copy.bodies = {std::make_shared<const graph::Graph>(std::move(*finished))};
    return copy;
  }

  // The layout that input `i` must come in: `node` may be retyped, `original` is the node of the source
  // graph.
  Layout input_layout(const Node& node, const Node& original, std::size_t i, Layout in) const {
    if (!moves(original.inputs[i])) return Layout::kPlain;
    if (!graph::is_group(node) && is_convolution(node) && i > 0) return Layout::kPlain;  // computed weights
    return graph::is_group(node) ? node.bodies[0]->type(node.bodies[0]->inputs()[i]).layout : in;
  }

  // Asks the target about the node alone, with constants as constants.
  bool runs(const Node& made, const Node& original, Layout in) const {
    std::vector<const graph::Value*> inputs;
    std::vector<graph::TensorType> types;
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
      const ValueId input = original.inputs[i];
      inputs.push_back(input.valid() ? &graph_.value(input) : nullptr);
      types.push_back(input.valid() ? graph_.type(input) : graph::TensorType{});
      if (input.valid()) types.back().layout = input_layout(made, original, i, in);
    }
    std::vector<std::string> names;
    for (ValueId output : original.outputs) names.push_back(graph_.value(output).name);
    const auto alone = graph_of_one(made, inputs, types, names);
    return alone.ok() && !alone->nodes().empty() && context_.target.runs(*alone, alone->nodes()[0]);
  }

  Status emit(const Node& original, Node node, Layout in) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid())
        node.inputs[i] = in_layout(original.inputs[i], input_layout(node, original, i, in), &original);
    }
    std::vector<std::string> names;
    std::vector<graph::TensorType> declared;
    for (ValueId output : original.outputs) {
      names.push_back(output.valid() ? graph_.value(output).name : "");
      declared.push_back(output.valid() ? graph_.type(output) : graph::TensorType{});
    }
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(node), names, declared));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) native_[original.outputs[i]] = outputs[i];
    }
    return {};
  }

  const graph::Graph& graph_;
  const PassContext& context_;
  GraphBuilder builder_;
  Layout layout_;
  std::unordered_map<ValueId, ValueId> native_;              // in the layout in which it is made
  std::map<std::pair<ValueId, Layout>, ValueId> reordered_;  // and in others
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> assign_layouts(const graph::Graph& graph, const PassContext& context) {
  const bool any = std::any_of(graph.nodes().begin(), graph.nodes().end(), is_convolution);
  if (!any || context.target.takes.convolution_layout == Layout::kPlain || !context.target.runs)
    return PassOutcome{graph, {}, {}};
  return Assigner(graph, context).run();
}

}  // namespace hone::passes
