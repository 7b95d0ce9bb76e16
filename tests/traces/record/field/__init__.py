"""A fifth set of programs by somebody who had not read the rules: one mistake each of those in published scripts.

Form as in the package blind: each takes `repaired` and returns the function that runs one step, and CAUSES says what
the ledger of the faulty form should name first."""
