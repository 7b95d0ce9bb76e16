// The lines of a request that the session leaves for a process (observe/control.h).
#pragma once

#include <cstdio>
#include <cstdlib>

#include <sys/types.h>

namespace hone::observe::inject {

// Calls `visit` with each line, without its end. False: there is no such file.
template <typename Visit>
bool for_each_request_line(const char* path, const Visit& visit) {
  std::FILE* file = std::fopen(path, "re");
  if (!file) return false;
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
    if (line[length - 1] == '\n') line[length - 1] = '\0';
    visit(static_cast<const char*>(line));
  }
  std::free(line);
  std::fclose(file);
  return true;
}

}  // namespace hone::observe::inject
