"""How parameters are updated."""
import functools
import weakref

from . import edits, log, outcomes

FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


class Fused:
    NAME = "fused_optimizer"
    on = True

    def __init__(self):
        self.made = weakref.WeakSet()

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
            if type(optimizer) is not cls:
                return original(optimizer, *args, **kwargs)
            if kwargs.get("fused"):
                log.refused(self.NAME, "%s is made with fused=%s already" % (cls.__name__, kwargs["fused"]))
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
            self.made.add(optimizer)
            if not self.on:
                _fuse(optimizer, False)
            outcomes.applied(self.NAME, "%s updates all parameters in one kernel" % cls.__name__,
                             log.guarded(self.NAME, edits.keywords_in_call, edits.caller(), {"fused": "True"}, cls.__name__, kwargs))

        cls.__init__ = __init__

    def switch(self, on):
        self.on = on
        for optimizer in self.made:
            _fuse(optimizer, on)


def _fuse(optimizer, on):
    """As if it had been made with fused=True, or without: a fused one counts its steps where the parameters are, others on the host."""
    optimizer.defaults["fused"] = True if on else None
    optimizer._step_supports_amp_scaling = on
    for group in optimizer.param_groups:
        group["fused"] = True if on else None
        for parameter in group["params"]:
            state = optimizer.state.get(parameter, {})
            if hasattr(state.get("step"), "to"):
                state["step"] = state["step"].to(parameter.device if on else "cpu")


class SetToNone:
    NAME = "set_to_none"
    on = True

    def __init__(self):
        self.seen = set()  # calls of the program

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
            if not set_to_none:
                self.tell(edits.caller())
            return original(self_, set_to_none=set_to_none or self.on)

        cls.zero_grad = zero_grad

    def tell(self, frame):
        place = frame.f_code, frame.f_lasti
        if place not in self.seen:
            self.seen.add(place)
            outcomes.applied(self.NAME, "gradients are dropped instead of filled with zeros",
                             log.guarded(self.NAME, edits.keywords_in_call, frame, {"set_to_none": "True"}, "zero_grad", None,
                                         {"set_to_none": 0}))
