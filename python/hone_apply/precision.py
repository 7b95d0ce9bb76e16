"""Types that products are computed in."""
import sys

from . import edits, log, outcomes, outermost, seeds


class Tf32:
    NAME = "tf32"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        original = torch.set_float32_matmul_precision
        self.torch, self.set_precision = torch, original
        self.before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        self.switch(self.on)
        chosen = []

        def set_float32_matmul_precision(precision):
            chosen.append(precision)
            return original(precision)

        def before_first_call(module, args, kwargs, frame):
            if chosen:
                return log.refused(self.NAME, 'the program chooses "%s" itself' % chosen[-1])
            outcomes.applied(self.NAME, "products of f32 run on the tensor cores in tf32",
                             edits.after_import("torch", 'torch.set_float32_matmul_precision("high")'))

        torch.set_float32_matmul_precision = set_float32_matmul_precision
        outermost.of_this_process(torch).before_first_call(0, self.NAME, before_first_call)

    def switch(self, on):
        precision, self.torch.backends.cudnn.allow_tf32 = ("high", True) if on else self.before
        self.set_precision(precision)


class AutocastBf16:
    """As a person writes it: `with torch.autocast(...)` from the model's call to the line before backward()."""
    NAME = "autocast_bf16"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        self.torch = torch
        self.entered = None
        self.called_at = None
        outermost.of_this_process(torch).before_first_call(20, self.NAME, self.before_first_call)
        original = torch.autograd.backward

        def backward(tensors, *args, **kwargs):
            self.leave()
            log.guarded(self.NAME, self.tell, sys._getframe(1))
            return original(tensors, *args, **kwargs)

        torch.autograd.backward = backward

    def before_first_call(self, module, args, kwargs, frame):
        torch = self.torch
        parameter = next(iter(module.parameters()))
        device = parameter.device.type
        if torch.is_autocast_enabled(device):
            return log.refused(self.NAME, "the program computes under autocast already")
        if any(each.dtype in (torch.float16, torch.bfloat16) for each in module.parameters()):
            return log.refused(self.NAME, "the model has parameters in half precision already")
        own = own_functions(torch)
        if own:
            return log.refused(self.NAME, "autograd functions of the program (%s) may not bear other types" % ", ".join(own[:3]))
        cls, change = type(module), self
        own_call, base = cls.__dict__.get("__call__"), torch.nn.Module

        def base_call(module, *args, **kwargs):
            call = own_call or base.__call__  # others replace the base's for a while
            return call.__get__(module, cls)(*args, **kwargs)  # what observes the program puts no function there

        def __call__(self, *args, **kwargs):
            if not change.on or change.entered is not None or torch.compiler.is_compiling():
                return base_call(self, *args, **kwargs)
            change.enter(device)
            try:
                return base_call(self, *args, **kwargs)
            finally:
                if not torch.is_grad_enabled():
                    change.leave()

        cls.__call__ = __call__
        self.device = device
        # A kernel of a device draws for as many elements at a time as fit its widest load.
        self.draws = seeds.draws_otherwise(torch, module) if device != "cpu" else {}
        self.called_at = _Place(edits.users_frame(frame)) if edits.is_in_users_code(frame) else None
        if self.on:
            self.enter(device)  # this call has passed there already
        if not torch.is_grad_enabled():
            self.tell(None)

    def switch(self, on):
        self.leave()
        self.on = on

    def enter(self, device):
        self.leave()
        self.entered = self.torch.autocast(device, dtype=self.torch.bfloat16)
        self.entered.__enter__()

    def leave(self):
        if self.entered is not None:
            entered, self.entered = self.entered, None
            entered.__exit__(None, None, None)

    def tell(self, frame):
        if self.called_at is None and not hasattr(self, "device"):
            return
        text = "the forward pass and the loss compute products in bf16"
        head = 'with torch.autocast("%s", dtype=torch.bfloat16):' % self.device
        outcomes.applied(self.NAME, text, edits.around(self.called_at, edits.users_frame(frame), head), **self.draws)


class _Place:
    """What a frame was executing, after it has gone on."""

    def __init__(self, frame):
        self.f_code, self.f_lineno, self.f_lasti = frame.f_code, frame.f_lineno, frame.f_lasti


def own_functions(torch):
    """Names of autograd functions that the program itself defines."""
    found = []
    for cls in torch.autograd.Function.__subclasses__():
        module = sys.modules.get(cls.__module__)
        path = getattr(module, "__file__", None)
        if path is not None and edits.is_users(path):
            found.append(cls.__name__)
    return found
