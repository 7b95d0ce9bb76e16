// Samples that a model is trained on or judged by: one at a time, by number. Readers of formats are behind this; who
// shuffles, augments and batches is in front of it (batches.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/shape.h"
#include "core/tensor.h"
#include "data/stages.h"

namespace hone::data {

// One tensor of every sample: "image", "mask", "label", "tokens".
struct Field {
  std::string name;
  DType dtype = DType::kUndefined;
  Shape shape;  // without the axis of batches; kVaries where it differs from sample to sample
};
inline constexpr int64_t kVaries = -1;

// Field by field.
using Sample = std::vector<Tensor>;

// Thread-safe: samples are read by several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::span<const Field> fields() const = 0;
  virtual int64_t size() const = 0;
  // Sample `index` of [0, size()), decoded, the same each time. An error names the file and what is wrong with it.
  virtual Result<Sample> read(int64_t index) const = 0;
  virtual std::string name_of(int64_t index) const = 0;  // for people: the file, and the place in it

  // read(), and what it took. Who reads files tells reading from decoding; else all of it counts as decoding.
  virtual Result<Sample> read_timed(int64_t index, StageTimes& times) const {
    const StageTimer timer(times, Stage::kDecode);
    return read(index);
  }
  // Reads the sample now where a cache keeps it for later. False: none does, or it is full.
  virtual bool prefetch(int64_t) const { return false; }
  // A number that is another one when what the sample is made of has changed: name, size and date of its files.
  // What keeps decoded samples on disk asks it.
  virtual uint64_t version_of(int64_t index) const { return fnv1a(name_of(index)); }
};

// What another sample may stand in for. The operating system's errors are not: a disk that fails, or a file that went,
// would change in silence what is learnt.
inline bool is_damage(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported;
}

}  // namespace hone::data
