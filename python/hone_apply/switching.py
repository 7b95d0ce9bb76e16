"""Changes that are switched off and on again between blocks of steps of one run: with one and without it are timed under the same
conditions, which drift slowly. Which one is tried, and which others are in force meanwhile, hone orders while the program runs:
    {"number": 3, "try": "tf32", "in_force": ["channels_last"]}    in the file `orders`, replaced as a whole
Blocks come in pairs, in an order that is drawn for each; the first pair of an order is not told, nor are the
first steps after each switch: what a change makes ready once, it makes ready there.

Steps are those of the first optimizer that steps, or calls of the outermost module where nothing is trained. A block begins and
ends when the device has done all that it was given, and is told in the log:
    {"ready": true}    orders are carried out from here on
    {"order": 3, "block": pair, "on": true, "steps": 40, "ms": 12.5}    ms of a step; "block" null: forget those told so far
"""
import json
import os
import random
import time

from . import log, outermost

_SETTLE_SHARE = 0.2  # of a block


class Orders:
    """The latest that hone has given."""

    def __init__(self, path):
        self.path, self.seen, self.order = path, None, None

    def __call__(self):
        try:
            status = os.stat(self.path)
            if self.seen != (status.st_ino, status.st_mtime_ns):
                self.seen = status.st_ino, status.st_mtime_ns
                with open(self.path, encoding="utf-8") as file:
                    self.order = json.load(file)
        except (OSError, ValueError):
            pass
        return self.order


class Blocks:
    """`switch(name, on)` acts on one of `changes`; `wait()` until the device has done all; `tell(**entry)` is the log."""

    def __init__(self, changes, switch, orders, wait, tell, after=20, seconds=0.3, fewest_steps=4, settle_steps=2,
                 seed=1, clock=time.perf_counter):
        self.changes, self.switch, self.orders, self.wait, self.tell, self.clock = changes, switch, orders, wait, tell, clock
        self.after, self.seconds, self.fewest_steps, self.settle_steps = after, seconds, fewest_steps, settle_steps
        self.random = random.Random(seed)
        self.in_force = set()
        self.begin_again()

    def begin_again(self):
        """What was taken for steps was none."""
        self._put_in_force(())
        self.seen, self.order, self.told = 0, None, False
        self._begin(None)

    def step(self):
        """A step has ended."""
        self.seen += 1
        if self.seen < self.after:
            return
        if not self.told:
            self.told = True
            self.tell(ready=True)
        if self.order is None:
            return self._look()
        self.steps += 1
        now = self.clock()
        if self.began is None:
            if self.steps >= self.settle_steps and now - self.switched >= _SETTLE_SHARE * self.seconds:
                self.wait()
                self.began, self.steps = self.clock(), 0
            return
        if self.steps < self.fewest_steps or now - self.began < self.seconds:
            return
        self.wait()
        if self.pair > 0:
            self.tell(order=self.order["number"], block=self.pair, on=self.on, steps=self.steps,
                      ms=1e3 * (self.clock() - self.began) / self.steps)
        if not self._look():
            self._next()

    def _look(self):
        """Whether there is another order."""
        order = self.orders()
        if order is None or (self.order is not None and order["number"] == self.order["number"]):
            return False
        self._begin(order)
        return True

    def _begin(self, order):
        self.order, self.pair, self.waiting, self.on = order, -1, [], False
        if order is not None:
            self._next()

    def _next(self):
        if self.waiting:
            self.on = self.waiting.pop()
        else:
            self.pair += 1
            self.on = self.random.random() < 0.5
            self.waiting = [not self.on]
        self.wait()
        self._put_in_force([*self.order["in_force"], *([self.order["try"]] if self.on else [])])
        self.switched, self.began, self.steps = self.clock(), None, 0

    def _put_in_force(self, names):
        """What is switched off goes first: of some changes one alone can be in force."""
        wanted = {name for name in names if name in self.changes}
        for on, changed in ((False, self.in_force - wanted), (True, wanted - self.in_force)):
            for name in sorted(changed):
                self.switch(name, on)
        self.in_force = wanted


def arrange(request, changes, hooks):
    """`changes` by name, made and not in force."""
    changes = {name: change for name, change in changes.items() if hasattr(change, "switch")}
    if not changes or log.rank()[1] > 1:
        return

    torch = None
    stepping = []  # the optimizer whose steps count

    def wait():
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()

    def switch(name, on):
        if log.is_applied(name):  # what was refused cannot be switched
            log.guarded(name, changes[name].switch, on)

    more = {key: value for key, value in request.items() if key not in ("changes", "orders")}
    blocks = Blocks(changes, switch, Orders(request["orders"]), wait, log.write, **more)

    def step():
        log.guarded("switching", blocks.step)

    def after_step(optimizer, args, kwargs):
        if torch is None or torch.compiler.is_compiling():
            return
        if not stepping:
            stepping.append(optimizer)
            if blocks.seen:
                log.guarded("switching", begin_again)  # they were of an evaluation before the training
        if stepping[0] is optimizer:
            step()

    def begin_again():
        log.write(block=None)
        blocks.begin_again()

    class Calls:
        done = property(lambda self: bool(stepping))

        def __call__(self, output):
            if not stepping and not torch.is_grad_enabled():
                step()

    def of_torch(module):
        nonlocal torch
        torch = module
        outermost.of_this_process(torch).when_returned(Calls())

    hooks.setdefault("torch", []).append(("switching", of_torch))
    hooks.setdefault("torch.optim.optimizer", []).append(
        ("switching", lambda module: module.register_optimizer_step_post_hook(after_step)))
