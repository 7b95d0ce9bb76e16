"""What Python loads at its start in a program that hone observes, or in which it tries a change: this folder stands first on
PYTHONPATH, and holds nothing else that a program could import.

Runs the sitecustomize that Python would have found without it, and arranges that hooks are set once the program
imports PyTorch. Until then, and in programs that never do, nothing else happens. Written for every Python there
is: one that is too old for the hooks only runs the user's sitecustomize.
"""
import os
import sys


def _forget_folder(here):
    """Nothing of ours may be found by the program's own imports. Child processes have PYTHONPATH."""
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]


# Packages beside this folder's, by the environment variable that asks for each.
_PACKAGES = {"HONE_OBSERVE_FOLDER": "hone_observe", "HONE_APPLY": "hone_apply"}


def _begin(package, packages):
    try:
        from importlib.util import module_from_spec, spec_from_file_location
        name, folder = "_" + package, os.path.join(packages, package)
        spec = spec_from_file_location(name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        module.begin()
    except Exception:  # the program is not to notice
        pass


def _run_users_own():
    """Its errors are Python's to report, as if it had been found first."""
    name = __name__
    if sys.version_info < (3, 4):
        del sys.modules[name]
        __import__(name)
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    spec = PathFinder.find_spec(name)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


_here = os.path.dirname(os.path.abspath(__file__))
_forget_folder(_here)
for _variable, _package in _PACKAGES.items():
    if sys.version_info >= (3, 8) and os.environ.get(_variable):
        _begin(_package, os.path.dirname(os.path.dirname(_here)))
_run_users_own()
