"""The modules that the program itself calls, and their first calls: where changes of a whole model are made.

While they are looked for, the call of every module passes through here; once one has been called for the second time
nothing does any more. Modules without parameters (losses, activations) are nobody's model.
"""
import sys

from . import log

MOST_CALLS = 64  # without a second one of the same module

_of_process = None


def of_this_process(torch):
    global _of_process
    if _of_process is None:
        _of_process = Outermost(torch)
    return _of_process


class Outermost:
    def __init__(self, torch):
        self.base = torch.nn.Module
        self.original = self.base.__call__
        self.first_calls = []  # (order, change, function of (module, args, kwargs, frame))
        self.listeners = []
        self.seen = {}
        self.calls = 0
        self.again = False  # a model was called for the second time
        self.base.__call__ = self._make_call()

    def before_first_call(self, order, change, function):
        """Of each outermost module with parameters; those of lower order come first. It may change the module."""
        self.first_calls.append((order, change, function))
        self.first_calls.sort(key=lambda entry: entry[0])

    def when_returned(self, listener):
        """A callable that gets what models return, until it says `done`."""
        self.listeners.append(listener)

    def _make_call(self):
        outermost = self

        def __call__(module, *args, **kwargs):
            return outermost._called(module, args, kwargs, sys._getframe(1))

        return __call__

    def _called(self, module, args, kwargs, frame):
        """Within the call of an outermost module everything is as it was: torch.compile traces what is called there."""
        ours = self.base.__call__
        self.base.__call__ = self.original
        try:
            is_model = log.guarded("outermost", self._consider, module, args, kwargs, frame)
            result = self.original(module, *args, **kwargs)
        finally:
            if self._looks():
                self.base.__call__ = ours
        if is_model:
            for listener in self.listeners:
                log.guarded("losses", listener, result)
        return result

    def _consider(self, module, args, kwargs, frame):
        self.calls += 1
        if id(module) in self.seen:
            self.again = True
            return True
        if next(iter(module.parameters()), None) is None:
            return False
        self.seen[id(module)] = module
        for _, change, function in self.first_calls:
            log.guarded(change, function, module, args, kwargs, frame)
        return True

    def _looks(self):
        return (not self.again and self.calls < MOST_CALLS) or any(not listener.done for listener in self.listeners)
