#!/usr/bin/env python3
"""Tests of python/hone_apply/switching.py: blocks of steps with a change and without it. Needs no PyTorch."""
import importlib
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
switching = importlib.import_module("hone_apply.switching")


class MadeUpProgram:
    """Steps take 10 ms without the change and 5 ms with it; the first two after a switch take 100 ms more."""

    def __init__(self, **more):
        self.now, self.on, self.switches, self.waits, self.told = 0.0, True, [], 0, []
        self.since_switch = 10
        self.blocks = switching.Blocks(self.switch, self.wait, lambda **entry: self.told.append(entry),
                                       clock=lambda: self.now, **more)

    def switch(self, on):
        self.on = on
        self.since_switch = 0
        self.switches.append(on)

    def wait(self):
        self.waits += 1

    def run(self, steps):
        for _ in range(steps):
            self.now += (0.005 if self.on else 0.010) + (0.1 if self.since_switch < 2 else 0)
            self.since_switch += 1
            self.blocks.step()
        return self


class Blocks(unittest.TestCase):
    def test_the_change_is_in_force_for_the_first_steps(self):
        program = MadeUpProgram(after=20).run(19)
        self.assertEqual(program.switches, [])
        self.assertTrue(program.on)

    def test_blocks_tell_the_steps_with_and_without_it_but_not_what_a_switch_costs(self):
        told = MadeUpProgram(after=5, seconds=0.1).run(2000).told
        self.assertGreater(len(told), 20)
        for entry in told:
            self.assertAlmostEqual(entry["ms"], 5 if entry["on"] else 10)
            self.assertGreaterEqual(entry["steps"] * entry["ms"], 100)

    def test_pairs_hold_one_of_each_in_an_order_that_is_drawn(self):
        told = MadeUpProgram(after=5, seconds=0.05).run(3000).told
        firsts = set()
        for first, second in zip(told[::2], told[1::2]):
            self.assertEqual(first["block"], second["block"])
            self.assertNotEqual(first["on"], second["on"])
            firsts.add(first["on"])
        self.assertEqual(firsts, {True, False})

    def test_the_first_pair_is_not_told(self):
        self.assertEqual(MadeUpProgram(after=5, seconds=0.05).run(500).told[0]["block"], 1)

    def test_long_steps_are_few_in_a_block(self):
        program = MadeUpProgram(after=5, seconds=0.001, fewest_steps=4).run(200)
        self.assertTrue(all(entry["steps"] == 4 for entry in program.told))

    def test_steps_that_were_none_are_forgotten(self):
        program = MadeUpProgram(after=5, seconds=0.05).run(300)
        program.blocks.begin_again()
        self.assertTrue(program.on)
        self.assertEqual(program.told[-1], {"block": None})
        told = len(program.told)
        program.run(500)
        self.assertEqual(program.told[told]["block"], 1)


if __name__ == "__main__":
    unittest.main()
