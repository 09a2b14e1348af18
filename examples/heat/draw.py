#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a plate before and after a run of heat beside each other, with the blocks of the processes.

    draw.py BEFORE.png AFTER.png FACTS.json PICTURE.png

The first three are heat's arguments; runs on Debian's Python, which has matplotlib.
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def draw_plate(axes, cells, title, facts):
    """Draw temperatures, and the borders and ranks of the blocks."""
    height, width = cells.shape
    image = axes.imshow(cells, cmap="inferno", vmin=0, vmax=1, extent=(0, width, height, 0))
    for row in facts["rows"][1:]:
        axes.axhline(row, color="white", linewidth=1)
    for column in facts["columns"][1:]:
        axes.axvline(column, color="white", linewidth=1)
    corners = [(row, column) for row in facts["rows"] for column in facts["columns"]]
    for rank, (row, column) in enumerate(corners):
        axes.text(column + 4, row + 4, f"rank {rank}", color="white", va="top", fontsize=10)
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def plural(number, one, several):
    """Return a number and its noun."""
    return f"{number} {one if number == 1 else several}"


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    before, after = (plt.imread(path) for path in sys.argv[1:3])
    facts = json.loads(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 5.2), constrained_layout=True)
    draw_plate(left, before, "before", facts)
    image = draw_plate(right, after, f"after {facts['steps']} steps", facts)
    figure.colorbar(image, ax=[left, right], label="temperature", shrink=0.8)
    figure.suptitle(
        f"Heat diffusion on a communicator made from a session: "
        f"{plural(facts['processes'], 'process', 'processes')} "
        f"on {plural(facts['nodes'], 'node', 'nodes')}, {facts['seconds']:.2f} s, "
        f"largest difference to the serial solution {facts['difference']:g}"
    )
    figure.savefig(sys.argv[4], dpi=100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
