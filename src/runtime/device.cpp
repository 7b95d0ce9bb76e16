#include "runtime/device.h"

namespace hone::runtime {
namespace {

// For queues that have nothing to gain from taking commands down: they are given anew each time.
class PlainRecording : public Recording {
 public:
  PlainRecording(Queue& queue, Sequence& sequence) : queue_(queue), sequence_(sequence) {}
  Status replay() override { return queue_.run(sequence_); }

 private:
  Queue& queue_;
  Sequence& sequence_;
};

}  // namespace

Result<std::unique_ptr<Recording>> Queue::make_recording(Sequence& sequence) {
  return std::unique_ptr<Recording>(std::make_unique<PlainRecording>(*this, sequence));
}

}  // namespace hone::runtime
