"""That a change is in force, and what a person would write for it: an edit of the program, or an argument of its trainer."""
from . import edits, log, trainers


def applied(change, text, where=None, value=None, **more):
    """It is in force from here on. `where`: an edit of edits.py, or what it says ByHand: what a person would write, unless a trainer has
    an argument for it; `value`: of that argument. `more`: what else the log says of it."""
    where = log.guarded(change, trainers.edit_for, change, value) or where
    if isinstance(where, edits.ByHand):
        return log.once(change, "applied", "%s; %s" % (text, where), **more)
    log.once(change, "applied", text, **({"edit": where} if where else {}), **more)
