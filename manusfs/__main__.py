"""Where the program begins, `manusfs` and `python -m manusfs` alike: Ctrl-C is caught before anything is imported."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` looks for modules in the folder where one stands first: in a stranger's, a click.py would run.
    del sys.path[0]

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit with its code, also when Ctrl-C comes while it is still being loaded."""
    try:
        from manusfs.cli import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
