"""What changes did: a JSON object a line, of all processes of the program, in one file."""
import json
import os

# What launchers call the number of a process among those of one program, and how many these are.
_RANKS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
          ("SLURM_PROCID", "SLURM_NTASKS"))

_path = None
_said = set()


def open_log(path):
    global _path
    _path = path


def rank():
    """(number of this process, how many there are) of a program of several ranks; (0, 1) of others."""
    for number, count in _RANKS:
        if os.environ.get(number, "").isdigit() and os.environ.get(count, "").isdigit():
            return int(os.environ[number]), max(1, int(os.environ[count]))
    return 0, 1


def write(**entry):
    """One write of one line: lines of several processes do not mix."""
    if _path is None:
        return
    number, count = rank()
    of_rank = {"rank": number, "ranks": count} if count > 1 else {}
    line = json.dumps({"pid": os.getpid(), **of_rank, **entry}) + "\n"
    try:
        descriptor = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError:
        pass


def once(change, status, text, **more):
    """Of several models that a change is made in the same way each has lines of its own."""
    said = change, status, text, json.dumps(more.get("edit"))
    if said in _said:
        return
    _said.add(said)
    write(change=change, status=status, text=text, **more)


def is_applied(change):
    return any(said[:2] == (change, "applied") for said in _said)


def refused(change, text):
    """It would not be safe, or the program has it already."""
    once(change, "refused", text)


def guarded(change, function, *arguments):
    """Calls the function; the program goes on without the change where that fails."""
    try:
        return function(*arguments)
    except Exception as problem:
        once(change, "failed", "%s: %s" % (type(problem).__name__, problem))
        return None
