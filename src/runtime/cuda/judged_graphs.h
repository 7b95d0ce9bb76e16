// What cuDNN said of each convolution and attention that a provider has met: passes ask about a node many times, layers
// repeat, and an answer takes the library some milliseconds, or seconds where it compiles.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cudnn_attention_gradient.h"
#include "cuda/cudnn_convolution.h"

namespace hone::runtime {

template <typename GraphKind>
struct JudgedGraph {
  std::shared_ptr<const GraphKind> graph;
  // Best guess first; the first one's plan is made. None: `why_not` says what the library said.
  std::vector<cuda::CudnnEngine> engines;
  std::string why_not;
};
using JudgedConvolution = JudgedGraph<cuda::Convolution>;
using JudgedAttention = JudgedGraph<cuda::Attention>;
using JudgedAttentionGradient = JudgedGraph<cuda::AttentionGradient>;

// May be used by several threads at once.
class JudgedGraphs {
 public:
  explicit JudgedGraphs(std::shared_ptr<const cuda::Cudnn> library) : library_(std::move(library)) {}

  const cuda::Cudnn& library() const { return *library_; }
  std::shared_ptr<const JudgedConvolution> judge(const cuda::ConvolutionDesc& desc);
  std::shared_ptr<const JudgedAttention> judge(const cuda::AttentionDesc& desc);
  std::shared_ptr<const JudgedAttentionGradient> judge(const cuda::AttentionGradientDesc& desc);

 private:
  template <typename Desc, typename GraphKind>
  struct Known {
    Desc desc;
    std::shared_ptr<const JudgedGraph<GraphKind>> judged;
  };
  template <typename Desc, typename GraphKind>
  std::shared_ptr<const JudgedGraph<GraphKind>> judge_once(std::deque<Known<Desc, GraphKind>>& known,
                                                           const Desc& desc);

  std::shared_ptr<const cuda::Cudnn> library_;
  std::mutex mutex_;
  // The newest first.
  std::deque<Known<cuda::ConvolutionDesc, cuda::Convolution>> convolutions_;
  std::deque<Known<cuda::AttentionDesc, cuda::Attention>> attentions_;
  std::deque<Known<cuda::AttentionGradientDesc, cuda::AttentionGradient>> attention_gradients_;
};

}  // namespace hone::runtime
