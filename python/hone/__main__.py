"""`python -m hone …` is the `hone` command."""
from ._command import main

main()
