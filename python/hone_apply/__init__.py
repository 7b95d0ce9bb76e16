"""Changes that `hone lab -- COMMAND` tries in a PyTorch program without touching its files (package `_hone_apply` there).

The environment variable HONE_APPLY names a JSON file:
    {"changes": ["tf32", "compile", ...], "parent": 4711, "seed": 1, "losses": 40, "log": "/run/apply.jsonl",
     "processes": 8,   (or none: those that `workers` gives a data loader)
     "switch": {"changes": ["tf32", ...], "orders": "/run/orders.json", "after": 40, ...}}   (or none: switching.py)
Each change is a class of changes.py. What it did, or why it did nothing, it says in the log: a JSON object a line.

Nothing here may fail in the program's sight: a change that cannot be made is not made, and the log says why.
"""
import importlib
import json
import os

REQUEST = "HONE_APPLY"


def begin():
    with open(os.environ[REQUEST], encoding="utf-8") as file:
        request = json.load(file)
    _end_with(request.get("parent"))
    from . import log, seeds, trainers
    log.open_log(request["log"])
    seeds.begin(request.get("seed"))
    hooks = {module: [("seed", hook)] for module, hook in seeds.HOOKS.items()} if "seed" in request else {}
    for module, hook in trainers.HOOKS.items():
        hooks.setdefault(module, []).append(("trainers", hook))
    switched = request.get("switch", {}).get("changes", [])
    made = {name: log.guarded(name, _arrange, name, request, hooks, name not in switched) for name in request["changes"] + switched}
    if switched:
        from . import switching
        log.guarded("switching", switching.arrange, request["switch"], {name: made[name] for name in switched}, hooks)
    if request.get("losses"):
        from . import losses
        losses.arrange(request["losses"], hooks)
    if hooks:
        _watch(hooks)


def _end_with(parent):
    """This run is an experiment of `parent`, hone: nobody would end it if that is killed. Processes that this one starts have another."""
    if os.getppid() != parent:
        return
    try:
        import ctypes
        import signal
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    except Exception:
        pass


def _arrange(name, request, hooks, on):
    changes = importlib.import_module(".changes", __name__)
    change = changes.CHANGES[name]()
    change.on = on
    if "processes" in request and hasattr(change, "processes"):
        change.processes = request["processes"]
    for module, hook in change.hooks().items():
        hooks.setdefault(module, []).append((name, hook))
    return change


def _watch(hooks):
    from . import log, shared
    imports = shared.of_observe("imports")

    def call_all(calls):
        def call(module):
            for name, hook in calls:
                log.guarded(name, hook, module)
        return call

    imports.watch({module: call_all(calls) for module, calls in hooks.items()})
