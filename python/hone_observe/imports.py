"""Calls functions right after certain modules have been imported for the first time."""
import sys


class _Finder:
    """The first of sys.meta_path: lets the others find a module, and puts a call behind its execution."""

    def __init__(self):
        self.calls = {}  # module name to functions

    def hone_watches(self, calls):
        for name, call in calls.items():
            self.calls.setdefault(name, []).append(call)

    def find_spec(self, name, path=None, target=None):
        if name not in self.calls:
            return None
        spec = self._found_by_others(name, path, target)
        loader = getattr(spec, "loader", None)
        if loader is None:
            return spec
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return spec

        def execute_and_call(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            for call in self.calls.pop(name, ()):
                call(module)

        try:
            loader.exec_module = execute_and_call
        except AttributeError:  # a loader without a dictionary of its own: no hook
            pass
        return spec

    def _found_by_others(self, name, path, target):
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                return spec
        return None


def watch(calls):
    """`calls`: module name to the function that gets the module. One finder serves all who watch: two would ask each
    other for ever."""
    for finder in sys.meta_path:
        if hasattr(finder, "hone_watches"):
            return finder.hone_watches(calls)
    finder = _Finder()
    finder.hone_watches(calls)
    sys.meta_path.insert(0, finder)
