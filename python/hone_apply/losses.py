"""What a program computes, step by step: the losses from which it goes backward, or, where it never does, samples of what its
outermost modules return. They are kept on the device and written once enough are there, so that no step waits.
"""
from . import log, outermost

MOST_VALUES = 4096  # of an output, evenly spaced


class Losses:
    """A listener to what models return, too (outermost.py)."""

    def __init__(self, torch, most):
        self.torch = torch
        self.most = most
        self.losses = []
        self.outputs = []
        self.written = False

    @property
    def done(self):
        """A training has losses: what its models return is of no interest."""
        return self.written or bool(self.losses)

    def backward_begins(self, tensors):
        if self.written:
            return
        first = tensors[0] if isinstance(tensors, (tuple, list)) and tensors else tensors
        if isinstance(first, self.torch.Tensor) and first.numel() == 1:
            self.losses.append(first.detach().float().reshape(()).clone())
            if len(self.losses) >= self.most:
                self.write()

    def __call__(self, output):
        if self.done or self.torch.is_grad_enabled():
            return
        tensor = _first_floating(self.torch, output)
        if tensor is None:
            return
        flat = tensor.detach().reshape(-1)
        self.outputs.append(flat[::max(1, flat.numel() // MOST_VALUES)].float().clone())
        if len(self.outputs) >= self.most:
            self.write()

    def write(self):
        if self.written:
            return
        self.written = True
        if self.losses:
            log.write(losses=[loss.item() for loss in self.losses])
        elif self.outputs:
            log.write(outputs=[each.cpu().tolist() for each in self.outputs])
        self.losses, self.outputs = [], []


def _first_floating(torch, output):
    if isinstance(output, torch.Tensor):
        return output if output.is_floating_point() and output.numel() > 0 else None
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (tuple, list)):
        for each in output:
            found = _first_floating(torch, each)
            if found is not None:
                return found
    return None


def arrange(most, hooks):
    def of_torch(torch):
        import atexit
        losses = Losses(torch, most)
        original = torch.autograd.backward

        def backward(tensors, *args, **kwargs):
            log.guarded("losses", losses.backward_begins, tensors)
            return original(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        outermost.of_this_process(torch).when_returned(losses)
        atexit.register(log.guarded, "losses", losses.write)

    hooks.setdefault("torch", []).append(("losses", of_torch))
