"""What `hone profile` does inside a Python program (package `_hone_observe` there): begin() is called at Python's
start, and the hooks of HOOKS when the program imports what they are for."""
import importlib

from . import imports

# Module of the program: the functions here, "module.function", that get it right after its import.
HOOKS = {
    "torch": "hone_torch.of_torch marks.of_waits",
    "torch.autograd.profiler": "profilers.of_torch",
    "torch.optim.optimizer": "marks.of_optimizers",
    "torch.nn.modules.module": "marks.of_modules",
    "torch.utils.data.dataloader": "loaders.of_data_loaders",
    "torch.cuda.graphs": "graphs.of_torch",
    "torch._dynamo.eval_frame": "marks.of_compiled_modules",
}


def begin():
    imports.watch({name: _call(functions.split()) for name, functions in HOOKS.items()})


def _call(functions):
    def call(module):
        for function in functions:
            _set(function, module)
    return call


def _set(function, module):
    try:
        name, attribute = function.split(".")
        getattr(importlib.import_module("." + name, __name__), attribute)(module)
    except Exception as problem:  # the program goes on without this hook
        from . import library
        library.note("Python: %s was not set: %s: %s" % (function, type(problem).__name__, problem))
