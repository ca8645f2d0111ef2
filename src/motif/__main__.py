"""`python -m motif` is the command line."""

from motif.cli import main

main()
