"""What a person would write into the program to have a change: texts to insert into its source.

An edit is a dictionary: {"file": path, "insertions": [{"line", "column", "text"}]}, lines from 1 and columns from 0 as they are
in the file; column -1: the text is a line of its own before that line.
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


def keyword_in_call(frame, keyword, value, called=None):
    """keyword=value as one more argument of the call that `frame` is in; None where the call has that argument. `called`: the name
    of what is called there, where Python does not know the place (before 3.11)."""
    call = _call_at(frame, called)
    if call is None or any(each.arg == keyword for each in call.keywords):
        return None
    text = "%s=%s" % (keyword, value)
    arguments = call.args + [each.value for each in call.keywords]
    if not arguments:
        return _edit(frame, [_insertion(call.end_lineno, _column(frame, call.end_lineno, call.end_col_offset) - 1,
                                        text + ", ")])  # another keyword may come here
    last = max(arguments, key=lambda each: (each.end_lineno, each.end_col_offset))
    if isinstance(last, ast.GeneratorExp):
        return None  # may be without brackets of its own
    return _edit(frame, [_insertion(last.end_lineno, _column(frame, last.end_lineno, last.end_col_offset), ", " + text)])


def times_argument(frame, keyword, position, factor, called=None):
    """The argument of the call that `frame` is in, times `factor`."""
    call = _call_at(frame, called)
    if call is None:
        return None
    given = [each.value for each in call.keywords if each.arg == keyword] + call.args[position:position + 1]
    if not given or any(isinstance(each, ast.Starred) for each in call.args[:position + 1]):
        return None
    value = given[0]
    first, last = ("", "") if isinstance(value, (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else ("(", ")")
    insertions = [_insertion(value.lineno, _column(frame, value.lineno, value.col_offset), first)] if first else []
    return _edit(frame, insertions + [_insertion(value.end_lineno, _column(frame, value.end_lineno, value.end_col_offset),
                                                 "%s * %d" % (last, factor))])


def before_loop(frame, text):
    """Lines before the outermost loop that the call at `frame` is in, or before its statement in a program without one. None in a function
    without one: somebody else calls it in a loop, and lines there would run in every step. `text` holds {model}: what is called there."""
    call = _call_at(frame)
    tree = _tree(frame)
    if call is None or tree is None:
        return None
    place = _outermost(tree, call, (ast.For, ast.While, ast.AsyncFor))
    if place is None and frame.f_code.co_name == "<module>":
        place = _outermost(tree, call, (ast.stmt,), last=True)
    if place is None:
        return None
    margin = " " * place.col_offset
    model = ast.unparse(call.func)
    return _edit(frame, [_own_line(place.lineno, margin + each) for each in text.format(model=model).split("\n")])


def to_write_once(frame, text):
    """In words, where no place for it is known: " (...)"."""
    call = _call_at(frame) if is_in_users_code(frame) else None
    return "" if call is None else "; write once, where it is made: %s" % text.format(model=ast.unparse(call.func))


def around(frame, last_frame, head):
    """`head` (a with statement's) around the statements from that of `frame` to the last before that of `last_frame` that makes
    something which it uses, where both stand in one block."""
    tree = _tree(frame)
    if tree is None or last_frame is None or last_frame.f_code is not frame.f_code:
        return None
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
    return None


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
    if path is None:
        return None
    tree = _parsed(path)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if any(name and name.split(".")[0] == module for name in names):
                last = _last_import(tree)
                return {"file": path, "insertions": [_own_line(last.end_lineno + 1, each) for each in text.split("\n")]}
    return None


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


def _insertion(line, column, text):
    return {"line": line, "column": column, "text": text}


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
