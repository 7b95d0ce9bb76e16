// A terminal as one screen that is drawn again and again: its alternate buffer, keys without Enter. The terminal is
// given back whatever ends the program, but for SIGKILL.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"

namespace hone::apps {

class FullScreen {
 public:
  // Whether standard input and output are a terminal that can do it.
  static bool possible();

  // One at a time.
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    std::size_t columns = 80, lines = 24;
    friend bool operator==(const Size&, const Size&) = default;
  };
  Size size() const;

  // Draws what differs from what stands there. A terminal that has not taken the last picture yet keeps it: this
  // one is left out. Never waits for the terminal.
  void show(const std::vector<std::string>& lines);

  static constexpr char kNoKey = '\0', kQuit = '\x03', kResized = '\x0c';
  // Waits for a key, and hands out what the terminal takes meanwhile. kNoKey after `milliseconds`; kQuit where the
  // program is asked to end (Ctrl-C) and where the terminal has gone; kResized where it has another size, or must
  // be drawn again.
  char wait(int milliseconds);

 private:
  void enter();
  void leave();
  void suspend();  // Ctrl-Z: until the shell brings it back
  void send_some();
  void read_keys();
  char next_key();

  std::vector<std::string> shown_;
  std::string pending_;  // for the terminal
  std::size_t sent_ = 0;
  std::string keys_;  // pressed, not given out yet
  Size last_size_;
  bool redraw_ = false;
};

}  // namespace hone::apps
