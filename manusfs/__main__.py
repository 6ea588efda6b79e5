"""`python -m manusfs` is `manusfs`."""

from manusfs.cli import main

main()
