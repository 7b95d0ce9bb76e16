#include "observe/host/host_watch.h"

#include <utility>

#include "observe/host/stack_sampler.h"

namespace hone::observe {

Result<HostWatch> HostWatch::create(const std::filesystem::path& folder) {
  HONE_ASSIGN(HostFileWriter writer, HostFileWriter::create(folder));
  return HostWatch(std::make_unique<StackSampler>(std::move(writer), folder));
}

HostWatch::HostWatch(std::unique_ptr<StackSampler> sampler) : sampler_(std::move(sampler)) {}
HostWatch::HostWatch(HostWatch&&) noexcept = default;
HostWatch::~HostWatch() = default;

void HostWatch::watch(int root) { sampler_->watch(root); }
bool HostWatch::can_read_python() const { return sampler_->can_read_python(); }
void HostWatch::begin_block(uint32_t block) { sampler_->read_uses(block); }
void HostWatch::end_block(uint32_t block) { sampler_->read_uses(block); }
void HostWatch::start_sampling() { sampler_->start(); }
void HostWatch::stop_sampling() { sampler_->stop(); }

std::vector<std::string> HostWatch::notes() const {
  return {sampler_->notes().begin(), sampler_->notes().end()};
}

}  // namespace hone::observe
