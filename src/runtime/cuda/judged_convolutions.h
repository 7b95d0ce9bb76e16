// What cuDNN said of each convolution that a provider has met: passes ask about a node many times, layers repeat, and an
// answer takes the library some milliseconds.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/cudnn_convolution.h"

namespace hone::runtime {

struct JudgedConvolution {
  cuda::ConvolutionDesc desc;
  std::shared_ptr<const cuda::Convolution> convolution;
  // Best guess first; the first one's plan is made. None: `why_not` says what the library said.
  std::vector<cuda::ConvolutionEngine> engines;
  std::string why_not;
};

// May be used by several threads at once.
class JudgedConvolutions {
 public:
  explicit JudgedConvolutions(std::shared_ptr<const cuda::Cudnn> library) : library_(std::move(library)) {}

  const cuda::Cudnn& library() const { return *library_; }
  std::shared_ptr<const JudgedConvolution> judge(const cuda::ConvolutionDesc& desc);

 private:
  JudgedConvolution ask(const cuda::ConvolutionDesc& desc) const;

  std::shared_ptr<const cuda::Cudnn> library_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<const JudgedConvolution>> known_;  // the newest first
};

}  // namespace hone::runtime
