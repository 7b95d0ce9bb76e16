"""How parameters are updated."""
import functools

from . import edits, log

FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


class Fused:
    NAME = "fused_optimizer"

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        for name in FUSED:
            cls = getattr(torch.optim, name, None)
            if cls is not None:
                self.wrap(cls)

    def wrap(self, cls):
        original = cls.__init__

        @functools.wraps(original)
        def __init__(optimizer, *args, **kwargs):
            if type(optimizer) is not cls or kwargs.get("fused") is not None:
                return original(optimizer, *args, **kwargs)
            if any(kwargs.get(name) for name in ("foreach", "differentiable", "capturable")):
                log.refused(self.NAME, "the program chose another implementation of %s" % cls.__name__)
                return original(optimizer, *args, **kwargs)
            params = list(args[0]) if args else list(kwargs.pop("params"))  # may be a generator: it is read twice
            rest = args[1:]
            try:
                original(optimizer, params, *rest, **dict(kwargs, fused=True))
            except (RuntimeError, TypeError) as problem:
                log.refused(self.NAME, "%s cannot be fused here: %s" % (cls.__name__, problem))
                return original(optimizer, params, *rest, **kwargs)
            frame = edits.caller()
            users = edits.is_in_users_code(frame)
            log.applied(self.NAME, "%s updates all parameters in one kernel" % cls.__name__,
                        log.guarded(self.NAME, edits.keyword_in_call, frame, "fused", "True", cls.__name__) if users else None)

        cls.__init__ = __init__


class SetToNone:
    NAME = "set_to_none"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def switch(self, on):
        self.on = on

    def of_torch(self, torch):
        for owner in (torch.optim.Optimizer, torch.nn.Module):
            self.wrap(owner)

    def wrap(self, cls):
        original = cls.zero_grad

        @functools.wraps(original)
        def zero_grad(self_, set_to_none=True):
            if not self.on:
                return original(self_, set_to_none=set_to_none)
            if not set_to_none:
                log.applied(self.NAME, "gradients are dropped instead of filled with zeros")
            return original(self_, set_to_none=True)

        cls.zero_grad = zero_grad
