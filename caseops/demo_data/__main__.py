"""Write the payment incident: `python -m caseops.demo_data FOLDER [--variant V] [--seed N]`."""

import argparse
import sys
from pathlib import Path

from caseops.demo_data.folder import write
from caseops.demo_data.incident import SEED, VARIANTS


def main(arguments: list[str]) -> int:
    """Write the folder that *arguments* name and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m caseops.demo_data")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--variant", choices=VARIANTS, default="main")
    parser.add_argument("--seed", type=int, default=SEED)
    wanted = parser.parse_args(arguments)
    folder = write(wanted.folder, variant=wanted.variant, seed=wanted.seed)
    sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
