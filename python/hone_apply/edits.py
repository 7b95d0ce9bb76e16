"""What a person would write into the program to have a change: texts to insert into its source.

An edit is a dictionary: {"file": path, "insertions": [{"line", "column", "text"}]}, lines from 1 and columns from 0 as they are
in the file; column -1: the text is a line of its own before that line; "removed": as many characters from there it stands for.
Where there is none, it is said ByHand.
"""
import ast
import functools
import linecache
import os
import sys
import sysconfig


def users_frame(frame):
    """The innermost frame at or around `frame` that is of the user's code, in no library; None: there is none."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


_HERE = os.path.dirname(__file__)
_LIBRARIES = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep
                    for name in ("stdlib", "platstdlib", "purelib", "platlib")}) + (
    os.path.dirname(os.path.realpath(__file__)) + os.sep,)


def caller():
    """The frame that called into this package."""
    frame = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _HERE:
        frame = frame.f_back
    return frame


def is_in_users_code(frame):
    return frame is not None and is_users(frame.f_code.co_filename)


def is_users(filename):
    if filename.startswith("<"):
        return False
    path = os.path.realpath(filename)
    return not path.startswith(_LIBRARIES) and "/site-packages/" not in path and "/dist-packages/" not in path


class ByHand:
    """What a person would write, in words, and why that is no edit."""

    def __init__(self, write, why):
        self.write, self.why = write, why

    def __str__(self):
        return "write %s; no patch does: %s" % (self.write, self.why)


def keywords_in_call(frame, values, called, given=None, positions=None):
    """The call that `frame` is in with these keyword arguments, {name: text}, in place of what it gives for them already. `called`: the
    name of what is called there; `given`: names of all that the call got, where that is known; `positions`: those of arguments that
    may stand without their names."""
    def by_hand(why):
        return ByHand("%s in the call of %s%s" % (", ".join("%s=%s" % each for each in values.items()), called, _where(frame)), why)

    if not is_in_users_code(frame):
        return by_hand("the call stands in a library")
    call = _call_at(frame, called)
    if call is None:
        return by_hand("which call of that line it is could not be told")
    unpacked = any(each.arg is None for each in call.keywords)
    replaced, added = [], []
    for name, value in values.items():
        old = _argument(call, name, (positions or {}).get(name))
        if old is None and unpacked and (given is None or name in given):
            return by_hand("the call takes its arguments from a dictionary (**)")
        if old is not None and old.lineno != old.end_lineno:
            return by_hand("%s takes several lines there" % name)
        if old is None:
            added.append("%s=%s" % (name, value))
        else:
            first, end = (_column(frame, old.lineno, each) for each in (old.col_offset, old.end_col_offset))
            replaced.append(_insertion(old.lineno, first, value, end - first))
    arguments = call.args + [each.value for each in call.keywords]
    if not added:
        return _edit(frame, replaced)
    if not arguments:
        return _edit(frame, [_insertion(call.end_lineno, _column(frame, call.end_lineno, call.end_col_offset) - 1,
                                        ", ".join(added) + ", ")])  # another keyword may come here
    last = max(arguments, key=lambda each: (each.end_lineno, each.end_col_offset))
    if isinstance(last, ast.GeneratorExp):
        return by_hand("its last argument is a generator that may have no brackets of its own")
    end = _column(frame, last.end_lineno, last.end_col_offset)
    return _edit(frame, replaced + [_insertion(last.end_lineno, end, "".join(", " + each for each in added))])


def _argument(call, name, position):
    """The value that a call gives for an argument; None: it gives none that is seen."""
    for each in call.keywords:
        if each.arg == name:
            return each.value
    if position is None or position >= len(call.args) or any(isinstance(each, ast.Starred) for each in call.args[:position + 1]):
        return None
    return call.args[position]


def _where(frame):
    return " (%s:%d)" % (frame.f_code.co_filename, frame.f_lineno) if is_in_users_code(frame) else ""


def times_argument(frame, keyword, position, factor, called):
    """The argument of the call that `frame` is in, times `factor`."""
    by_hand = ByHand("%s %d times as large in the call of %s%s" % (keyword, factor, called, _where(frame)),
                     "where it is given could not be told")
    call = _call_at(frame, called) if is_in_users_code(frame) else None
    value = call and _argument(call, keyword, position)
    if value is None:
        return by_hand
    first, last = ("", "") if isinstance(value, (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else ("(", ")")
    insertions = [_insertion(value.lineno, _column(frame, value.lineno, value.col_offset), first)] if first else []
    return _edit(frame, insertions + [_insertion(value.end_lineno, _column(frame, value.end_lineno, value.end_col_offset),
                                                 "%s * %d" % (last, factor))])


def before_loop(frame, text):
    """Lines before the outermost loop that the call at `frame` is in, or before its statement in a program without one. By hand in a
    function without one: somebody else calls it in a loop, and lines there would run in every step. `text` holds {model}: what is
    called there."""
    call = _call_at(frame) if is_in_users_code(frame) else None
    if call is None:
        return ByHand(text.format(model="model") + " once, where the model is made", "where the model is called could not be told")
    tree = _tree(frame)
    place = _outermost(tree, call, (ast.For, ast.While, ast.AsyncFor))
    if place is None and frame.f_code.co_name == "<module>":
        place = _outermost(tree, call, (ast.stmt,), last=True)
    model = ast.unparse(call.func)
    if place is None:
        return ByHand(text.format(model=model) + " once, where it is made",
                      "it is called in a function%s whose lines run in every step" % _where(frame))
    margin = " " * place.col_offset
    return _edit(frame, [_own_line(place.lineno, margin + each) for each in text.format(model=model).split("\n")])


def around(frame, last_frame, head):
    """`head` (a with statement's) around the statements from that of `frame` to the last before that of `last_frame` that makes
    something which it uses, where both stand in one block."""
    by_hand = ByHand("`%s` around the model's call and the loss" % head, "they do not stand in one block of the program's own files")
    tree = frame and _tree(frame)
    if tree is None or last_frame is None or last_frame.f_code is not frame.f_code:
        return by_hand
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            at = [_index(block, line) for line in (frame.f_lineno, last_frame.f_lineno)]
            if None in at or at[0] >= at[1]:
                continue
            statements = _until_last_used(block[at[0]:at[1]], block[at[1]])
            first, last = statements[0], statements[-1]
            within_text = _lines_within_text(statements)
            indented = [_insertion(line, 0, "    ") for line in range(first.lineno, last.end_lineno + 1)
                        if line not in within_text and linecache.getline(frame.f_code.co_filename, line).strip()]
            return _edit(frame, [_own_line(first.lineno, " " * first.col_offset + head)] + indented)
    return by_hand


def _until_last_used(statements, user):
    """Without those at the end that set none of the names in `user`; all of them where none does."""
    used = {node.id for node in ast.walk(user) if isinstance(node, ast.Name)}
    for end in range(len(statements), 0, -1):
        if any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in used
               for node in ast.walk(statements[end - 1])):
            return statements[:end]
    return statements


def _lines_within_text(statements):
    """Lines that begin within a string: indented they would be another string."""
    lines = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))):
                lines.update(range(node.lineno + 1, node.end_lineno + 1))
    return lines


def after_import(module, text):
    """Lines after the main program's import of `module`."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    tree = _parsed(path) if path is not None else None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if any(name and name.split(".")[0] == module for name in names):
                last = _last_import(tree)
                return {"file": path, "insertions": [_own_line(last.end_lineno + 1, each) for each in text.split("\n")]}
    return ByHand("`%s` at the start of the program" % text.replace("\n", "; "), "its main file does not import %s" % module)


def _last_import(tree):
    """The end of the imports at the head of a file."""
    last = None
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            last = node
        elif last is not None:
            break
    return last if last is not None else tree.body[0]


def _index(block, line):
    for i, statement in enumerate(block):
        if statement.lineno <= line <= statement.end_lineno:
            return i
    return None


def _edit(frame, insertions):
    return {"file": frame.f_code.co_filename, "insertions": insertions}


def _insertion(line, column, text, removed=0):
    return {"line": line, "column": column, "text": text, **({"removed": removed} if removed else {})}


def _own_line(line, text):
    return _insertion(line, -1, text)


def _tree(frame):
    return _parsed(frame.f_code.co_filename)


@functools.lru_cache(maxsize=8)
def _parsed(path):
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None


def _column(frame, line, bytes_before):
    """In characters; ast counts bytes of UTF-8."""
    text = linecache.getline(frame.f_code.co_filename, line)
    return len(text.encode()[:bytes_before].decode())


def _call_at(frame, called=None):
    """The call expression that a frame is executing: by the instruction's position where Python knows it (3.11), otherwise
    the only call of its line, or the only one there of something of that name."""
    tree = _tree(frame)
    if tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is not None:
        at = list(positions())[frame.f_lasti // 2]
        for call in calls:
            if (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset) == at:
                return call
        return None
    calls = [call for call in calls if call.lineno <= frame.f_lineno <= call.end_lineno]
    if len(calls) > 1:
        calls = [call for call in calls if called and _name_of(call.func) == called]
    return calls[0] if len(calls) == 1 else None


def _name_of(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)


def _outermost(tree, inner, kinds, last=False):
    """The outermost (or with `last` the innermost) node of those kinds around `inner`, within the function that holds it."""
    found = None
    for node in _path_to(tree, inner):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found = None
        elif isinstance(node, kinds) and (found is None or last):
            found = node
    return found


def _path_to(tree, inner):
    """The nodes from the root to `inner`."""
    path = []

    def walk(node):
        if node is inner:
            return True
        for child in ast.iter_child_nodes(node):
            path.append(child)
            if walk(child):
                return True
            path.pop()
        return False

    walk(tree)
    return path
