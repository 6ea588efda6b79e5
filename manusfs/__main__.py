"""Where the program begins, `manusfs` and `python -m manusfs` alike: Ctrl-C is caught before anything is imported."""

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
