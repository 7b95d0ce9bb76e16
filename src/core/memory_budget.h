// How much memory tensors may take, all together. Memory is the process's, so the account is, too: every
// tensor that owns its elements (core/tensor.h) is charged to it when it is made and taken off when its last
// copy goes. A model of a kilobyte can ask for more memory than any machine has; with a budget that ends in
// an error at the node that asked, not in a machine that swaps. Thread-safe.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

// A tensor was to be made that the budget has no room for. Interpreters and readers turn it into an error
// that names the node; elsewhere it is what running out of memory always is.
class OverMemoryBudget : public std::bad_alloc {
 public:
  explicit OverMemoryBudget(std::size_t asked);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// `bytes` 0: no limit, as at the start of the program.
void set_memory_budget(std::size_t bytes);
std::size_t memory_budget();
// That tensors own now, with what the books about them take.
std::size_t memory_in_use();
// The most that they owned together since the last call of restart_memory_peak(), or since the program began.
std::size_t memory_peak();
void restart_memory_peak();

// Throws OverMemoryBudget, charging nothing, where `bytes` more are over the budget.
void charge_memory(std::size_t bytes);
void release_memory(std::size_t bytes) noexcept;

// What this process could still take: of the machine, or of its container (cgroup) where that has less. 0:
// not known.
std::size_t available_memory();

// What people write for an amount of memory: "8G", "500M", "2 GiB", "1.5GB"; a bare number is bytes. Units are powers of
// 1024, whichever way they are spelled. nullopt for anything else.
std::optional<std::size_t> parse_memory(std::string_view text);

}  // namespace hone
