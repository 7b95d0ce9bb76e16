"""A change that is switched off and on again between blocks of steps of one run: with it and without it are timed under the same
conditions, which drift slowly. Blocks come in pairs, in an order that is drawn for each; the first pair is not told, nor are the
first steps after each switch: what a change makes ready once, it makes ready there.

Steps are those of the first optimizer that steps, or calls of the outermost module where nothing is trained. A block begins and
ends when the device has done all that it was given, and is told in the log:
    {"block": pair, "on": true, "steps": 40, "ms": 12.5}    ms of a step; "block" null: forget those told so far
"""
import random
import time

from . import log, outermost

_SETTLE_STEPS = 2
_SETTLE_SHARE = 0.2  # of a block


class Blocks:
    """`switch(on)` acts on the change; `wait()` until the device has done all; `tell(**entry)` is the log."""

    def __init__(self, switch, wait, tell, after=20, seconds=0.4, fewest_steps=4, seed=1, clock=time.perf_counter):
        self.switch, self.wait, self.tell, self.clock = switch, wait, tell, clock
        self.after, self.seconds, self.fewest_steps = after, seconds, fewest_steps
        self.random = random.Random(seed)
        self.seen = 0
        self.pair = -1
        self.waiting = []  # the other block of this pair
        self.on = True
        self.began = None  # of the block, once its first steps are over
        self.steps = 0
        self.switched = None

    def begin_again(self):
        """What was taken for steps was none."""
        self.switch(True)
        self.seen, self.pair, self.waiting, self.on, self.switched = 0, -1, [], True, None
        self.tell(block=None)

    def step(self):
        """A step has ended."""
        self.seen += 1
        if self.seen < self.after:
            return
        if self.switched is None:
            return self._next()
        self.steps += 1
        now = self.clock()
        if self.began is None:
            if self.steps >= _SETTLE_STEPS and now - self.switched >= _SETTLE_SHARE * self.seconds:
                self.wait()
                self.began, self.steps = self.clock(), 0
            return
        if self.steps < self.fewest_steps or now - self.began < self.seconds:
            return
        self.wait()
        if self.pair > 0:
            self.tell(block=self.pair, on=self.on, steps=self.steps, ms=1e3 * (self.clock() - self.began) / self.steps)
        self._next()

    def _next(self):
        if self.waiting:
            self.on = self.waiting.pop()
        else:
            self.pair += 1
            self.on = self.random.random() < 0.5
            self.waiting = [not self.on]
        self.wait()
        self.switch(self.on)
        self.switched, self.began, self.steps = self.clock(), None, 0


def arrange(request, change, hooks):
    name = request["change"]
    if not hasattr(change, "switch") or log.rank()[1] > 1:
        return

    torch = None
    stepping = []  # the optimizer whose steps count

    def wait():
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()

    blocks = Blocks(lambda on: log.guarded(name, change.switch, on), wait, log.write,
                    **{key: value for key, value in request.items() if key != "change"})

    def step():
        if log.is_applied(name):  # what was refused cannot be switched
            log.guarded(name, blocks.step)

    def after_step(optimizer, args, kwargs):
        if torch is None or torch.compiler.is_compiling():
            return
        if not stepping:
            stepping.append(optimizer)
            if blocks.seen:
                log.guarded(name, blocks.begin_again)  # they were of an evaluation before the training
        if stepping[0] is optimizer:
            step()

    class Calls:
        done = property(lambda self: bool(stepping))

        def __call__(self, output):
            if not stepping and not torch.is_grad_enabled():
                step()

    def of_torch(module):
        nonlocal torch
        torch = module
        outermost.of_this_process(torch).when_returned(Calls())

    hooks.setdefault("torch", []).append((name, of_torch))
    hooks.setdefault("torch.optim.optimizer", []).append(
        (name, lambda module: module.register_optimizer_step_post_hook(after_step)))
