// The queue of batches and the threads that fill it. Workers take shares of the foremost batch that has samples
// left, so that the one that is waited for is finished first.
#include "data/loader.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/clock.h"

namespace hone::data {
namespace {

constexpr int kMostWorkers = 256;
constexpr int64_t kMostReadAhead = 1024;

Status check_options(const LoaderOptions& options) {
  if (options.workers < 0 || options.workers > kMostWorkers)
    return invalid(fmt::format("{} workers: give 0 to {}", options.workers, kMostWorkers));
  if (options.read_ahead < 1 || options.read_ahead > kMostReadAhead)
    return invalid(fmt::format("{} batches read ahead: give 1 to {}", options.read_ahead, kMostReadAhead));
  return {};
}

}  // namespace

Stage LoaderCounts::limiting_stage() const {
  const auto most = std::max_element(stages.ns.begin(), stages.ns.end());
  return static_cast<Stage>(most - stages.ns.begin());
}

Result<std::unique_ptr<Loader>> Loader::make(std::shared_ptr<const Dataset> dataset,
                                             std::shared_ptr<const Transform> transform,
                                             const LoaderOptions& options,
                                             std::shared_ptr<BatchMemory> memory) {
  HONE_CHECK(check_options(options));
  HONE_ASSIGN(BatchOrder order, BatchOrder::make(dataset->size(), options.order));
  HONE_ASSIGN(auto writer, SampleWriter::make(std::move(dataset), std::move(transform), options.order.seed,
                                              options.on_damage));
  if (!memory) memory = host_batch_memory();
  std::unique_ptr<Loader> loader(new Loader(std::move(writer), order, options, std::move(memory)));
  loader->start_workers();
  return loader;
}

Loader::Loader(std::unique_ptr<SampleWriter> writer, BatchOrder order, const LoaderOptions& options,
               std::shared_ptr<BatchMemory> memory)
    : writer_(std::move(writer)), order_(std::move(order)), options_(options) {
  for (const Field& field : writer_->fields()) {
    sample_bytes_.push_back(static_cast<std::size_t>(element_count(field.shape)) * dtype_size(field.dtype));
    pools_.emplace_back(memory, sample_bytes_.back() * static_cast<std::size_t>(order_.batch_size()));
  }
  // Shares small enough that all workers end together, large enough that samples of a microsecond do not queue.
  const int64_t shares = std::max(1, 8 * options.workers);
  grain_ = static_cast<std::size_t>(std::max<int64_t>(1, order_.batch_size() / shares));
  counts_.stages.first_region = options.first_region;
}

void Loader::start_workers() {
  workers_.reserve(static_cast<std::size_t>(options_.workers));
  try {
    for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { run_worker(); });
  } catch (const std::system_error&) {  // a limit on threads: those that run, or next() itself, do the work
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::shared_ptr<Loader::Work> Loader::begin_work() {
  auto work = std::make_shared<Work>();
  work->place = begin_at_;
  work->samples = order_.samples_at(begin_at_);
  begin_at_ = order_.after(begin_at_);
  for (BlockPool& pool : pools_) {
    auto block = pool.take();
    if (!block.ok()) {
      work->error = {0, block.error().within("memory for a batch")};
      work->taken = work->done = work->samples.size();
      break;
    }
    work->blocks.push_back(*std::move(block));
  }
  queue_.push_back(work);
  return work;
}

std::optional<Loader::Share> Loader::take_share() {
  std::shared_ptr<Work> work;
  for (const auto& queued : queue_)
    if (queued->taken < queued->samples.size()) {
      work = queued;
      break;
    }
  if (!work) {
    if (std::ssize(queue_) >= options_.read_ahead) return std::nullopt;
    work = begin_work();
  }
  const std::size_t first = work->taken;
  work->taken = std::min(first + grain_, work->samples.size());
  return Share{work, first, work->taken - first};
}

// A sample for the cache, of a batch that has not begun.
std::optional<int64_t> Loader::take_prefetched() {
  if (prefetched_.empty()) {
    if (prefetched_batches_ == 0) return std::nullopt;
    --prefetched_batches_;
    prefetched_ = order_.samples_at(prefetched_at_);
    prefetched_at_ = order_.after(prefetched_at_);
  }
  const int64_t sample = prefetched_.back();
  prefetched_.pop_back();
  return sample;
}

void Loader::do_share(const Share& share) {
  StageTimes times;
  times.first_region = options_.first_region;
  Work& work = *share.work;
  std::optional<std::pair<std::size_t, Error>> error;
  std::exception_ptr bug;
  std::vector<std::byte*> out(sample_bytes_.size());
  for (std::size_t i = share.first; i < share.first + share.count && !error && !bug; ++i) {
    for (std::size_t field = 0; field < out.size(); ++field)
      out[field] = work.blocks[field].get() + i * sample_bytes_[field];
    try {
      Result<int64_t> sample = writer_->write(work.place.epoch, work.samples[i], out, times);
      if (sample.ok())
        work.samples[i] = *sample;
      else
        error = {i, sample.error()};
    } catch (...) {  // the consumer's thread is where it can be handled
      bug = std::current_exception();
    }
  }
  const std::lock_guard lock(mutex_);
  counts_.stages += times;
  work.done += share.count;
  if (error && (!work.error || error->first < work.error->first)) work.error = std::move(error);
  if (bug) work.bug = bug;
  if (work.finished()) ready_.notify_all();
}

void Loader::run_worker() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Share> share;
    std::optional<int64_t> prefetched;
    room_.wait(lock, [&] {
      return stopping_ || (share = take_share()).has_value() || (prefetched = take_prefetched()).has_value();
    });
    if (stopping_) return;
    if (!share) {
      lock.unlock();
      const bool kept = writer_->prefetch(*prefetched);
      lock.lock();
      if (!kept) {
        prefetched_batches_ = 0;
        prefetched_.clear();
      }
      continue;
    }
    // A batch that failed for want of memory has nothing to do and is ready.
    if (share->count == 0) {
      ready_.notify_all();
      continue;
    }
    lock.unlock();
    do_share(*share);
    lock.lock();
  }
}

Batch Loader::batch_of(Work& work) const {
  Batch batch;
  batch.place = work.place;
  batch.samples = std::move(work.samples);
  const auto& fields = writer_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Shape shape = fields[i].shape;
    shape.insert(shape.begin(), std::ssize(batch.samples));
    const void* const data = work.blocks[i].get();
    batch.tensors.push_back(
        Tensor::borrowed(fields[i].dtype, std::move(shape), data, std::move(work.blocks[i])));
  }
  return batch;
}

Result<Batch> Loader::next() {
  const int64_t start = now_ns();
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return !queue_.empty() && queue_.front()->finished(); };
  while (workers_.empty() && !is_ready()) {
    const auto share = take_share();
    if (share->count == 0) continue;
    lock.unlock();
    do_share(*share);
    lock.lock();
  }
  ready_.wait(lock, is_ready);
  const std::shared_ptr<Work> work = queue_.front();
  if (work->bug) std::rethrow_exception(work->bug);
  if (work->error) return work->error->second;
  queue_.pop_front();
  const int64_t end = now_ns();
  counts_.wait_ns += end - start;
  ++counts_.batches;
  counts_.samples += std::ssize(work->samples);
  lock.unlock();
  room_.notify_all();
  if (options_.first_region != kNoRegions && scopes_have_listener()) [[unlikely]]
    tell_scope_listener(ScopeListener::Kind::kRegion, options_.first_region, start, end);
  place_ = order_.after(work->place);
  return batch_of(*work);
}

Status Loader::seek(Place place) {
  if (place.epoch < 0 || place.batch < 0 || place.batch >= batches_per_epoch())
    return invalid(
        fmt::format("batch {} of epoch {}: an epoch of this data has {} batches, counted from 0; was it "
                    "another data set or batch size?",
                    place.batch, place.epoch, batches_per_epoch()));
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();  // what workers are at belongs to nobody then, and goes when they are done
    begin_at_ = place_ = prefetched_at_ = place;
    prefetched_.clear();
  }
  room_.notify_all();
  return {};
}

void Loader::prefetch(int64_t batches) {
  {
    const std::lock_guard lock(mutex_);
    prefetched_batches_ = std::min(batches, batches_per_epoch());
    prefetched_at_ = begin_at_;
    prefetched_.clear();
  }
  room_.notify_all();
}

LoaderCounts Loader::counts() const {
  const std::lock_guard lock(mutex_);
  LoaderCounts counts = counts_;
  counts.damaged = std::ssize(writer_->damages());
  return counts;
}

}  // namespace hone::data
