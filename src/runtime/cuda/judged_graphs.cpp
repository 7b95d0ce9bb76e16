#include "runtime/cuda/judged_graphs.h"

namespace hone::runtime {
namespace {

// Engines that are measured. Kernels that the library generates take it a second each.
constexpr std::size_t kMostEngines = 16, kMostGenerated = 4;

// What the library guesses it mostly can do; that it can is known of the first at least, or there is none.
void find_engines(const cuda::CudnnGraph& graph, std::vector<cuda::CudnnEngine>& found,
                  std::string& why_not) {
  const auto engines = graph.engines(kMostEngines);
  if (!engines.ok()) {
    why_not = engines.error().message;
    return;
  }
  why_not = "cuDNN has no engine that computes it exactly";
  std::size_t generated = 0;
  for (const cuda::CudnnEngine& engine : *engines) {
    if (engine.compiled_when_made && ++generated > kMostGenerated) continue;
    if (found.empty()) {
      const auto plan = graph.plan(engine);
      if (!plan.ok()) {
        why_not = plan.error().message;
        continue;
      }
    }
    found.push_back(engine);
  }
  if (!found.empty()) why_not.clear();
}

}  // namespace

template <typename Desc, typename GraphKind>
std::shared_ptr<const JudgedGraph<GraphKind>> JudgedGraphs::judge_once(
    std::deque<Known<Desc, GraphKind>>& known, const Desc& desc) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : known) {
    if (one.desc == desc) return one.judged;
  }
  auto judged = std::make_shared<JudgedGraph<GraphKind>>();
  auto graph = GraphKind::make(library_, desc);
  if (graph.ok()) {
    judged->graph = *std::move(graph);
    find_engines(*judged->graph, judged->engines, judged->why_not);
  } else {
    judged->why_not = graph.error().message;
  }
  known.push_front({desc, std::move(judged)});
  return known.front().judged;
}

std::shared_ptr<const JudgedConvolution> JudgedGraphs::judge(const cuda::ConvolutionDesc& desc) {
  return judge_once(convolutions_, desc);
}
std::shared_ptr<const JudgedAttention> JudgedGraphs::judge(const cuda::AttentionDesc& desc) {
  return judge_once(attentions_, desc);
}
std::shared_ptr<const JudgedAttentionGradient> JudgedGraphs::judge(const cuda::AttentionGradientDesc& desc) {
  return judge_once(attention_gradients_, desc);
}

}  // namespace hone::runtime
