#!/usr/bin/env python3
"""Tests of python/hone_apply/edits.py: what a person would write, told from the frame that calls. Needs no PyTorch."""
import importlib.util
import pathlib
import sys
import tempfile
import textwrap
import unittest

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python" / "hone_apply" / "edits.py"
spec = importlib.util.spec_from_file_location("edits", SOURCE)
edits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(edits)


def run(program, **names):
    """Runs a program of its own file; `names` are what it can call."""
    file = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False, encoding="utf-8")
    with file:
        file.write(textwrap.dedent(program))
    code = compile(pathlib.Path(file.name).read_text(encoding="utf-8"), file.name, "exec")
    exec(code, dict(names, __name__="__main__", __file__=file.name))
    return file.name


def with_insertions(path, edit):
    """As src/lab/program/edits.cpp puts them in."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    for insertion in sorted(edit["insertions"], key=lambda each: (-each["line"], -each["column"])):
        at = insertion["line"] - 1
        if insertion["column"] < 0:
            lines.insert(at, insertion["text"])
        else:
            end = insertion["column"] + insertion.get("removed", 0)
            lines[at] = lines[at][:insertion["column"]] + insertion["text"] + lines[at][end:]
    return "\n".join(lines)


class Edits(unittest.TestCase):
    def edited(self, program, make):
        """The program with the edit that make(frame of its caller) gives."""
        made = []
        path = run(program, call=lambda *args, **kwargs: made.append(make(sys._getframe(1))))
        self.assertEqual(len(made), 1)
        self.assertIsNotNone(made[0])
        self.assertEqual(made[0]["file"], path)
        return with_insertions(path, made[0])

    def keyword(self, program):
        return self.edited(program, lambda frame: edits.keywords_in_call(frame, {"fused": "True"}, "call"))

    def test_adds_a_keyword_to_the_call_that_runs(self):
        self.assertEqual(self.keyword("x = (call(1, lr=2), len([]))\n"), "x = (call(1, lr=2, fused=True), len([]))\n")
        self.assertEqual(self.keyword("call()\n"), "call(fused=True, )\n")
        self.assertEqual(self.keyword("call(1,)\n"), "call(1, fused=True,)\n")
        self.assertEqual(self.keyword('call("ä")\n'), 'call("ä", fused=True)\n')

    def test_adds_a_keyword_to_a_call_of_several_lines(self):
        self.assertEqual(self.keyword("call(\n    1,\n    2,\n)\n"), "call(\n    1,\n    2, fused=True,\n)\n")
        self.assertEqual(self.keyword("call(\n    1,\n    lr=2)\n"), "call(\n    1,\n    lr=2, fused=True)\n")

    def test_puts_lines_before_the_outermost_loop_of_the_function(self):
        program = """\
            def main(model):
                for epoch in range(1):
                    for batch in range(1):
                        loss = model(batch)


            main(call)
            """
        found = self.edited(program, lambda frame: edits.before_loop(frame, "{model} = compiled({model})"))
        self.assertIn("def main(model):\n    model = compiled(model)\n    for epoch", found)

    def test_puts_lines_before_the_statement_where_there_is_no_loop(self):
        found = self.edited("y = call(1)\n", lambda frame: edits.before_loop(frame, "{model}.compile()"))
        self.assertEqual(found, "call.compile()\ny = call(1)\n")

    def test_puts_no_line_into_a_function_that_others_call_in_a_loop(self):
        made = []
        run("def step(x):\n    return call(x)\nfor x in range(1):\n    step(x)\n",
            call=lambda x: made.append(edits.before_loop(sys._getframe(1), "{model}.compile()")))
        self.assertEqual(made[0].write, "call.compile() once, where it is made")
        self.assertIn("lines run in every step", str(made[0]))

    def test_puts_a_block_around_the_statements_between_two_calls(self):
        frames = []
        program = """\
            for x in range(1):
                out = call(x)
                loss = (out,

                        2)
                last(loss)
            """

        class Kept:
            def __init__(self, frame):
                self.f_code, self.f_lineno, self.f_lasti = frame.f_code, frame.f_lineno, frame.f_lasti

        made = []
        path = run(program, call=lambda x: frames.append(Kept(sys._getframe(1))),
                   last=lambda x: made.append(edits.around(frames[0], sys._getframe(1), "with narrow:")))
        self.assertEqual(with_insertions(path, made[0]), textwrap.dedent("""\
            for x in range(1):
                with narrow:
                    out = call(x)
                    loss = (out,

                            2)
                last(loss)
            """))

    def test_ends_the_block_with_what_the_last_call_needs(self):
        frames = []

        class Kept:
            def __init__(self, frame):
                self.f_code, self.f_lineno, self.f_lasti = frame.f_code, frame.f_lineno, frame.f_lasti

        made = []
        path = run("""\
            out = call(1)
            loss = [out]
            shown = str(loss)
            call.clear()
            last(loss)
            """, call=type("Call", (), {"__call__": lambda self, x: frames.append(Kept(sys._getframe(1))), "clear": lambda self: 0})(),
                   last=lambda x: made.append(edits.around(frames[0], sys._getframe(1), "with narrow:")))
        self.assertEqual(with_insertions(path, made[0]), textwrap.dedent("""\
            with narrow:
                out = call(1)
                loss = [out]
            shown = str(loss)
            call.clear()
            last(loss)
            """))

    def test_leaves_lines_of_a_string_as_they_are(self):
        frames, made = [], []

        class Kept:
            def __init__(self, frame):
                self.f_code, self.f_lineno, self.f_lasti = frame.f_code, frame.f_lineno, frame.f_lasti

        program = 'out = call(1)\ntext = """one\n  two {x}\n"""\nmore = f"""{out}\n"""\nlast((text, more))\n'
        path = run(program, call=lambda x: frames.append(Kept(sys._getframe(1))),
                   last=lambda x: made.append(edits.around(frames[0], sys._getframe(1), "with narrow:")))
        self.assertEqual(with_insertions(path, made[0]),
                         'with narrow:\n    out = call(1)\n    text = """one\n  two {x}\n"""\n    more = f"""{out}\n"""\nlast((text, more))\n')

    def test_multiplies_an_argument(self):
        def times(program):
            return self.edited(program, lambda frame: edits.times_argument(frame, "batch_size", 1, 2, "call"))

        self.assertEqual(times("call([], batch_size=32)\n"), "call([], batch_size=32 * 2)\n")
        self.assertEqual(times("call([], 32, True)\n"), "call([], 32 * 2, True)\n")
        self.assertEqual(times("call([], batch_size=16 + 16)\n"), "call([], batch_size=(16 + 16) * 2)\n")

    def test_knows_a_call_by_what_is_called_where_python_does_not_know_the_place(self):
        class Line:
            def __init__(self, code):
                self.f_code, self.f_lineno = code, 1

        class Code:
            pass

        for program, edit in (("x = AdamW(list(y), lr=2)\n", "x = AdamW(list(y), lr=2, fused=True)\n"),
                              ("x = optim.AdamW(f(y), lr=2)\n", "x = optim.AdamW(f(y), lr=2, fused=True)\n"),
                              ("x = AdamW(a()), AdamW(b())\n", None), ("x = A(f(y))\n", None)):
            with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
                file.write(program)
            code = Code()
            code.co_filename = file.name
            made = edits.keywords_in_call(Line(code), {"fused": "True"}, "AdamW")
            self.assertEqual(None if isinstance(made, edits.ByHand) else with_insertions(file.name, made), edit)

    def test_replaces_an_argument_that_is_there(self):
        self.assertEqual(self.keyword("call(1, fused=False)\n"), "call(1, fused=True)\n")
        self.assertEqual(self.keyword('call("ä", fused=not 1, lr=2)\n'), 'call("ä", fused=True, lr=2)\n')

        def workers(program):
            values = {"num_workers": "8", "persistent_workers": "True"}
            return self.edited(program, lambda frame: edits.keywords_in_call(frame, values, "call", (), {"num_workers": 2}))

        self.assertEqual(workers("call([], num_workers=0)\n"), "call([], num_workers=8, persistent_workers=True)\n")
        self.assertEqual(workers("call([], num_workers=0, x=1)\n"), "call([], num_workers=8, x=1, persistent_workers=True)\n")
        self.assertEqual(workers("call([], 32, 0)\n"), "call([], 32, 8, persistent_workers=True)\n")
        self.assertEqual(workers("call([], persistent_workers=False)\n"), "call([], persistent_workers=True, num_workers=8)\n")
        self.assertEqual(workers("call([], **{'x': 1})\n"), "call([], **{'x': 1}, num_workers=8, persistent_workers=True)\n")

    def test_says_in_words_what_to_write_and_why_it_is_no_edit(self):
        for program, why in (("call(**{'fused': False})\n", "from a dictionary"), ("call(1, fused=max(0,\n    0))\n", "several lines")):
            made = []
            path = run(program, call=lambda *args, **kwargs: made.append(
                edits.keywords_in_call(sys._getframe(1), {"fused": "True"}, "call", ("fused",))))
            self.assertEqual(made[0].write, "fused=True in the call of call (%s:1)" % path)
            self.assertIn(why, str(made[0]))

    def test_has_no_edit_where_the_two_calls_stand_in_different_functions(self):
        frames, made = [], []
        program = """\
            def forward(x):
                return call(x)


            loss = forward(1)
            last(loss)
            """
        run(program, call=lambda x: frames.append(sys._getframe(1)),
            last=lambda x: made.append(edits.around(frames[0], sys._getframe(1), "with narrow:")))
        self.assertIn("`with narrow:` around the model's call", str(made[0]))

    def test_knows_the_users_code_from_libraries(self):
        self.assertFalse(edits.is_users(textwrap.__file__))
        self.assertFalse(edits.is_users(str(SOURCE)))
        self.assertFalse(edits.is_users("<string>"))
        self.assertFalse(edits.is_users("/home/me/.venv/lib/python3.12/site-packages/torch/__init__.py"))
        self.assertTrue(edits.is_users("/home/me/train.py"))


if __name__ == "__main__":
    unittest.main()
