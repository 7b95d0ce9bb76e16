"""Programs written by somebody who had not read the rules, so that the diagnosis can be judged on them.

Each takes `repaired` and returns the function that runs one step; CAUSES says what the ledger of the faulty form should
name first. A name's hash puts the program into the half that rules may be tuned on, or into the half that is reported."""
