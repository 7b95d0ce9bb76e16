"""What `hone profile` does inside a Python program (package `_hone_observe` there): begin() is called at Python's
start, and the hooks of HOOKS when the program imports what they are for."""
import importlib

from . import imports

# Module of the program: the function here, "module.function", that gets it right after its import.
HOOKS = {
    "torch": "hone_torch.of_torch",
    "torch.autograd.profiler": "profilers.of_torch",
    "torch.optim.optimizer": "marks.of_optimizers",
    "torch.nn.modules.module": "marks.of_modules",
    "torch.utils.data.dataloader": "marks.of_data_loaders",
    "torch.cuda": "marks.of_waits",
    "torch.cuda.graphs": "graphs.of_torch",
    "torch._dynamo.eval_frame": "marks.of_compiled_modules",
}


def begin():
    imports.watch({name: _call(function) for name, function in HOOKS.items()})


def _call(function):
    def call(module):
        try:
            name, attribute = function.split(".")
            getattr(importlib.import_module("." + name, __name__), attribute)(module)
        except Exception as problem:  # the program goes on without this hook
            from . import library
            library.note("Python: %s was not set: %s: %s" % (function, type(problem).__name__, problem))
    return call
