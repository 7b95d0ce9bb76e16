// How the recorder gets into a program, which knows nothing of it.
//
// - CUDA_INJECTION64_PATH: CUDA's driver loads the library when the program initialises CUDA, and calls
//   InitializeInjection. Works for every program that uses a GPU, linked statically or not.
// - NVTX_INJECTION64_PATH: the same for NVTX ranges (nvtx.cpp).
// - Python: hone's sitecustomize loads the library with ctypes by the same path, before CUDA and without a GPU too.
//
// LD_PRELOAD is not used, though loading it so does no harm: it would put the library into every shell, compiler and
// helper that the program starts, is refused by programs with other rights, and takes the place that sanitizers
// and allocators want for themselves; programs that neither compute on a GPU nor run Python tell it nothing.
#include <cstdlib>
#include <new>

#include <pthread.h>
#include <unistd.h>

#include "observe/control.h"
#include "observe/inject/recorder.h"

namespace hone::observe::inject {
namespace {

// Storage of the one recorder, which outlives every destructor of the program.
alignas(Recorder) char recorder_storage[sizeof(Recorder)];
Recorder* the_recorder = nullptr;

void at_exit() { the_recorder->process_ends(); }
void before_fork() { the_recorder->before_fork(); }
void in_parent() { the_recorder->in_parent(); }
void in_child() { the_recorder->in_child(); }

__attribute__((constructor)) void library_is_loaded() {
  const char* folder = std::getenv(kFolderVariable);
  if (!folder || !*folder || the_recorder) return;
  auto* recorder = new (recorder_storage) Recorder;
  the_recorder = recorder;
  if (!recorder->start(folder)) {
    the_recorder = nullptr;
    return;
  }
  watch_exit_of_process();
  pthread_atfork(before_fork, in_parent, in_child);
}

}  // namespace

Recorder* this_process() { return the_recorder; }

void watch_exit_of_process() { std::atexit(at_exit); }

}  // namespace hone::observe::inject

// Called by CUDA's driver inside of cuInit. 1: well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  if (auto* recorder = hone::observe::inject::this_process()) recorder->cuda_starts();
  return 1;
}
