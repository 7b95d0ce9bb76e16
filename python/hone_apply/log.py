"""What changes did: a JSON object a line, of all processes of the program, in one file."""
import json
import os

_path = None
_said = set()


def open_log(path):
    global _path
    _path = path


def write(**entry):
    """One write of one line: lines of several processes do not mix."""
    if _path is None:
        return
    line = json.dumps({"pid": os.getpid(), **entry}) + "\n"
    try:
        descriptor = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError:
        pass


def _once(change, status, text, **more):
    if (change, status, text) in _said:
        return
    _said.add((change, status, text))
    write(change=change, status=status, text=text, **more)


def applied(change, text, where=None):
    """It is in force from here on. `where`: an Edit of edits.py, as a dictionary: what a person would write."""
    _once(change, "applied", text, **({"edit": where} if where else {}))


def refused(change, text):
    """It would not be safe, or the program has it already."""
    _once(change, "refused", text)


def guarded(change, function, *arguments):
    """Calls the function; the program goes on without the change where that fails."""
    try:
        return function(*arguments)
    except Exception as problem:
        _once(change, "failed", "%s: %s" % (type(problem).__name__, problem))
        return None
