// How the program ends before its work is done: interrupts, and files that vanish under it.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"

namespace hone::apps {

// From here on: SIGINT and SIGTERM ask long work to stop (interrupted()). What has not stopped after
// kGraceSeconds, or when a second signal comes, is ended: unfinished files are removed, one line says so, and
// the status is that of the signal. A mapped file that shrinks while it is read ends the program with a line
// that names it. A crash says where it was, for whoever mends it.
void watch_signals();

inline constexpr double kGraceSeconds = 1.5;
// Of work whose results so far are written when it stops, and that looks for a request between steps and copies of a model that
// may take seconds.
inline constexpr double kPatientGraceSeconds = 20;
void be_patient_when_interrupted();

// Called before the program is ended in the midst of its work: what must not be left behind, a terminal in another
// mode, say. It may do only what a signal handler may. Null: nothing.
void set_last_act(void (*act)());

// Set by the first signal: long work looks here and stops cleanly.
bool interrupted();

// The signals that ask to end. All threads have them blocked (watch_signals), and so would programs that are started.
std::vector<int> requests_to_end();
struct Request {
  int signal = 0;
  bool from_terminal = false;  // which sends it to the whole process group
};
// From here on requests are not for hone but for a program that it has started: `pass` is called with each, in a
// thread of its own; hone goes on. With no function they are for hone again. Returns once no call is under way.
void pass_requests_to(std::function<void(const Request&)> pass);

// Before results are written: an error where the program has been asked to end, or where a file that it
// computed from has been changed meanwhile.
Status check_may_write();
// What an interrupted program exits with: 128 + the signal, 130 (SIGINT) where there was none.
int interrupted_status();

}  // namespace hone::apps
