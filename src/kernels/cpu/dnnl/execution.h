// One oneDNN primitive with all its arguments made in advance, so that a run only sets pointers and calls the
// library. Shared by the operations of this folder; not part of its interface.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/library.h"

namespace hone::kernels::onednn {

class Execution {
 public:
  explicit Execution(std::string name)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_), name_(std::move(name)) {}

  const dnnl::engine& engine() const { return engine_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // Arguments whose memory comes with every run, in the order in which run() takes their pointers.
  void add_argument(int argument, const MemoryDesc& desc);
  // An argument whose contents stay: `data` in the format `from` is converted to `to` and kept.
  void add_constant(int argument, const MemoryDesc& from, const void* data, const MemoryDesc& to);
  // An argument whose memory comes with every run in the format `from` and is brought into `to` before the
  // primitive runs, in scratch memory.
  void add_repacked(int argument, const MemoryDesc& from, const MemoryDesc& to);
  // A result that the primitive writes in the format `from`, in scratch memory, and that is brought into `to`
  // afterwards.
  void add_repacked_result(int argument, const MemoryDesc& from, const MemoryDesc& to);
  // Ends the set-up. The scratchpad becomes the last argument.
  void finish(dnnl::primitive primitive, const MemoryDesc& scratchpad);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  std::size_t constant_bytes() const { return constant_bytes_; }

  void set(std::size_t index, const void* data) noexcept;
  Status run(void* scratch) noexcept;

 private:
  // A conversion that precedes the primitive in every run, or follows it.
  struct Repacking {
    dnnl::reorder reorder;
    dnnl::memory from, to;
    dnnl_exec_arg_t arguments[2];
    std::size_t offset = 0;  // in the scratch memory, of what the primitive sees
    bool padded = false;     // `to` has elements that `from` has not: zeros
    bool follows = false;

    const dnnl::memory& packed() const { return follows ? from : to; }
  };

  void add(int argument, const dnnl::memory& memory);
  void add_repacking(int argument, const MemoryDesc& from, const MemoryDesc& to, bool follows);
  void place(std::byte* scratch) noexcept;
  Status repack(bool follows) noexcept;

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::string name_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_memory_t> run_arguments_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<Tensor> constants_;
  std::vector<Repacking> repackings_;
  std::size_t library_scratch_bytes_ = 0;  // at the start of the scratch memory
  std::size_t scratch_bytes_ = 0;
  std::size_t constant_bytes_ = 0;
};

}  // namespace hone::kernels::onednn
