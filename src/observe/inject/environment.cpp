#include "observe/inject/environment.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "observe/control.h"

namespace hone::observe::inject {
namespace {

bool variable_is(const char* variable, const char* value) {
  const char* found = std::getenv(variable);
  return found && std::strcmp(found, value) == 0;
}

// The first of these variables that is set.
int32_t number_of(std::initializer_list<const char*> variables, int32_t otherwise) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value && *value) return static_cast<int32_t>(std::strtol(value, nullptr, 10));
  }
  return otherwise;
}

template <size_t size>
void copy_variable(char (&into)[size], const char* variable) {
  const char* value = std::getenv(variable);
  if (value && std::strlen(value) < size) std::snprintf(into, size, "%s", value);
}

}  // namespace

Environment Environment::read() {
  Environment found;
  found.rank =
      number_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, found.rank);
  found.world_size = number_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1);
  found.local_rank = number_of(
      {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, found.local_rank);
  copy_variable(found.cupti, kCuptiVariable);
  copy_variable(found.cuda_home, "CUDA_HOME");
  copy_variable(found.cuda_path, "CUDA_PATH");
  found.lines = variable_is(kLinesVariable, "1");
  found.attach_early = variable_is("HONE_OBSERVE_ATTACH", "early");
  found.driver_calls_always = variable_is("HONE_OBSERVE_DRIVER_CALLS", "always");
  found.driver_calls_never = variable_is("HONE_OBSERVE_DRIVER_CALLS", "never");
  found.flush_cupti = !variable_is("HONE_OBSERVE_FLUSH_MS", "0");
  return found;
}

}  // namespace hone::observe::inject
