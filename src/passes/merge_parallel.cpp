#include "passes/merge_parallel.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "passes/parallel_branch.h"

namespace hone::passes {
namespace {

using Branches = std::vector<ParallelBranch>;

class ParallelMerger {
 public:
  ParallelMerger(const graph::Graph& graph, const PassContext& context)
      : builder_(graph), context_(context) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.values().size(); ++i) {
      if (graph.users(ValueId{i}).size() > 1 && !graph.values()[i].is_constant()) visit(ValueId{i});
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void visit(ValueId input) {
    Branches branches;
    for (NodeId reader : builder_.users(input)) {
      auto branch = builder_.node(reader).inputs[0] == input ? read_branch(builder_, reader) : std::nullopt;
      if (branch) branches.push_back(std::move(*branch));
    }
    // Those of one kind of product, then of these the ones that may be merged.
    while (branches.size() > 1) {
      Branches alike = take_if(
          branches, [&](const ParallelBranch& b) { return same_form(builder_, branches.front(), b, 1); });
      if (alike.size() > 1) merge_alike(std::move(alike));
    }
  }

  // Moves out the elements for which `belongs` holds, in order; it is asked before anything moves.
  template <typename F>
  static Branches take_if(Branches& branches, F belongs) {
    std::vector<bool> chosen;
    for (const ParallelBranch& branch : branches) chosen.push_back(belongs(branch));
    Branches taken, left;
    for (std::size_t i = 0; i < branches.size(); ++i)
      (chosen[i] ? taken : left).push_back(std::move(branches[i]));
    branches = std::move(left);
    return taken;
  }

  void merge_alike(Branches branches) {
    while (branches.size() > 1) {
      const ParallelBranch first = branches.front();
      const auto attention = only_attention(first);
      const auto fits = [&](const ParallelBranch& b) {
        return only_attention(b) == attention && (attention || stays(b));
      };
      Branches together = take_if(branches, [&](const ParallelBranch& b) {
        return b.product() == first.product() || (fits(first) && fits(b) && why_not(first, b).empty());
      });
      if (together.size() > 1) {
        merge(together);
      } else if (!branches.empty()) {
        note_missed(first, branches.front());
      }
    }
  }

  // Why the operators behind the products keep them apart; empty if they do not.
  std::string why_not(const ParallelBranch& a, const ParallelBranch& b) const {
    for (const ParallelBranch* branch : {&a, &b}) {
      if (!branch->bound_by.empty()) return branch->bound_by + " is better computed behind its own product";
    }
    if (a.steps.size() != b.steps.size() || !same_form(builder_, a, b, a.steps.size()))
      return "what follows them differs";
    return "";
  }

  void note_missed(const ParallelBranch& a, const ParallelBranch& b) {
    std::string why = why_not(a, b);
    if (why.empty()) why = "parts of one result would have to be copied";
    outcome_.missed.push_back(
        {builder_.node(a.product()).name,
         fmt::format("not computed together with '{}': {}", builder_.node(b.product()).name, why)});
  }

  // The attention that alone reads the branch's result, as an operand that may be a part of wider rows.
  std::optional<NodeId> only_attention(const ParallelBranch& branch) const {
    const auto reader = only_reader(builder_, branch.result);
    if (!context_.target.takes.split_attention || !reader || builder_.node(*reader).op != "Attention")
      return std::nullopt;
    const std::vector<ValueId>& inputs = builder_.node(*reader).inputs;
    const graph::TensorType& type = builder_.type(branch.result);
    const bool operand = std::find(inputs.begin() + 3, inputs.end(), branch.result) == inputs.end();
    return operand && type.is_static() && type.rank() == 3 && branch.axis == 2 ? reader : std::nullopt;
  }

  // Whether the branch's part of a common result may stay where it is: one block of memory, also in the
  // layout that a convolution may get. What its kernel would write straight into a concatenation does not
  // stay.
  bool stays(const ParallelBranch& branch) const {
    const Layout layout = context_.target.takes.convolution_layout;
    const bool convolution = builder_.node(branch.product()).op == "Conv";
    if (convolution && (layout == Layout::kChannelsLast || branch.width % channel_block(layout) != 0))
      return false;
    for (int64_t i = 0; i < branch.axis; ++i) {
      if (extent(builder_, branch.result, i) != 1) return false;
    }
    const std::vector<NodeId> users = builder_.users(branch.result);
    return builder_.type(branch.result).is_static() &&
           std::none_of(users.begin(), users.end(),
                        [&](NodeId user) { return builder_.node(user).op == "Concat"; });
  }

  void merge(const Branches& branches) {
    const std::string name = builder_.node(branches[0].product()).name;
    ValueId flow = builder_.node(branches[0].product()).inputs[0];
    std::vector<int64_t> widths;
    std::string others;
    for (const ParallelBranch& branch : branches) {
      widths.push_back(branch.width);
      if (widths.size() > 1)
        others += fmt::format("{}'{}'", others.empty() ? "" : ", ", builder_.node(branch.product()).name);
    }
    for (std::size_t i = 0; i < branches[0].steps.size(); ++i) flow = merge_step(branches, i, flow);
    const ValueId sizes =
        builder_.constant(name + ".widths", Tensor::i64({static_cast<int64_t>(widths.size())}, widths));
    const std::vector<ValueId> parts = builder_.add_many("Split", {flow, sizes}, widths.size(),
                                                         {{"axis", branches[0].axis}}, name + ".parts");
    for (std::size_t i = 0; i < branches.size(); ++i) {
      builder_.replace_all_uses(branches[i].result, parts[i]);
      for (auto step = branches[i].steps.rbegin(); step != branches[i].steps.rend(); ++step)
        builder_.erase(step->node);
    }
    builder_.replacing({});
    outcome_.done.push_back({name, fmt::format("computed together with {}", others)});
  }

  ValueId merge_step(const Branches& branches, std::size_t index, ValueId flow) {
    const BranchStep& step = branches[0].steps[index];
    const Node node = builder_.node(step.node);
    std::vector<NodeId> nodes;
    for (const ParallelBranch& branch : branches) nodes.push_back(branch.steps[index].node);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      switch (step.operands[i].kind) {
        case BranchOperand::Kind::kAbsent:
        case BranchOperand::Kind::kShared:
          inputs.push_back(node.inputs[i]);
          break;
        case BranchOperand::Kind::kFlow:
          inputs.push_back(flow);
          break;
        case BranchOperand::Kind::kJoined: {
          std::vector<const Tensor*> parts;
          for (NodeId id : nodes) parts.push_back(constant_data(builder_, builder_.node(id).inputs[i]));
          inputs.push_back(builder_.constant(builder_.value(node.inputs[i]).name + ".joined",
                                             join(parts, step.operands[i].axis)));
          break;
        }
      }
    }
    builder_.replacing(nodes);
    return builder_.add(node.op, inputs, node.attributes, node.name + ".joined");
  }

  GraphBuilder builder_;
  const PassContext& context_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> merge_parallel(const graph::Graph& graph, const PassContext& context) {
  return ParallelMerger(graph, context).run(graph);
}

}  // namespace hone::passes
