// Checkpoints: all that a run needs to go on as if it had never stopped, in a folder each,
// "<run>/checkpoints/step-<number>": the states as safetensors, and an index with sizes and checksums. A folder has its
// name only once everything in it is on the disk, so that a run may be killed at any moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/result.h"
#include "data/batches.h"
#include "model/safetensors/safetensors.h"

namespace hone::lab {

struct Checkpoint {
  int64_t step = 0;              // steps done
  data::Place place;             // of the batch that comes next
  double seconds = 0;            // that were spent training
  std::optional<double> metric;  // of the last evaluation
  std::string precision;         // of the steps since the checkpoint before; empty: it does not say
  std::string residual;          // of the same steps, as [train] has it; empty: it does not say
  model::NamedTensors states;    // every input of the step's graph but the data
};

// Writes one, and removes those before the last `keep`. What remains of earlier attempts is removed, too.
Status write_checkpoint(const std::filesystem::path& run, const Checkpoint& checkpoint, int64_t keep);

// Checks sizes and checksums. The error names the file that is damaged.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder);

// Their folders, the newest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run);

// The newest that is whole. `damaged` gets what is wrong with those that were passed over. nullopt: there is none.
std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& run,
                                                 std::vector<std::string>& damaged);

// Writes beside the training, one at a time.
class CheckpointWriter {
 public:
  CheckpointWriter(std::filesystem::path run, int64_t keep) : run_(std::move(run)), keep_(keep) {}
  ~CheckpointWriter() { (void)wait(); }
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Begins once the one before is written. Returns how that one went.
  Status write(Checkpoint checkpoint);
  // How the last one went; an error is told once.
  Status wait();

 private:
  std::filesystem::path run_;
  int64_t keep_;
  std::thread thread_;
  Status status_;
};

}  // namespace hone::lab
