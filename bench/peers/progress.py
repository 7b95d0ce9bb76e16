"""How far the comparison is: a line on a terminal that rewrites itself, plain lines elsewhere; on stderr."""
import sys
import time


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Progress:
    """What is being done, and how long the rest will take if it goes on as it went so far."""

    def __init__(self, models):
        self.models = models
        self.done = -1
        self.start = self.model_start = self.rounds_start = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def model(self, name):
        self.name = name
        self.done += 1
        self.model_start = time.monotonic()

    def say(self, text):
        rest = ""
        if self.done > 0:
            mean = (self.model_start - self.start) / self.done
            left = mean * (len(self.models) - self.done) - (time.monotonic() - self.model_start)
            rest = f"; all: about {duration(max(left, 0))} left"
        self.show(f"{self.name} ({self.done + 1} of {len(self.models)}): {text}{rest}")

    def round(self, done, rounds):
        """Before each round; `done` of them are."""
        now = time.monotonic()
        if done == 0:
            self.rounds_start = now
            self.say("first round")
            return
        left = (now - self.rounds_start) / done * (rounds - done)
        mean = (now + left - self.start) / (self.done + 1)
        everything = left + mean * (len(self.models) - self.done - 1)
        if self.terminal or done % 5 == 0:
            self.show(f"{self.name} ({self.done + 1} of {len(self.models)}): round {done} of {rounds}, "
                      f"{duration(left)} left; all: about {duration(everything)} left")

    def show(self, text):
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr,
              flush=True)

    def clear(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
