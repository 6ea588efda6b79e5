"""The window over time, one line a policy, as an SVG drawing that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from manusfs.lab.measures import Measures

__all__ = ["plot"]

_WIDTH, _HEIGHT = 760, 240
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 34, 150, 28
_COLOURS = (
    "#888888",
    "#d1495b",
    "#edae49",
    "#00798c",
    "#111111",
    "#003d5b",
    "#6a4c93",
    "#4f772d",
    "#b5651d",
    "#30638e",
)
_STEPS = 4
_POINTS = 200


def plot(runs: Sequence[tuple[str, Sequence[Measures]]]) -> str:
    """Return an SVG with a chart for each run: tokens of each request, from the first to the last."""
    height = (_HEIGHT + _TOP + _BOTTOM) * max(1, len(runs))
    width = _WIDTH + _LEFT + _RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (name, measures) in enumerate(runs):
        lines.append(f'<g transform="translate({_LEFT},{_TOP + number * (_HEIGHT + _TOP + _BOTTOM)})">')
        lines += _chart(name, measures)
        lines.append("</g>")
    return "\n".join([*lines, "</svg>", ""])


def _chart(name: str, measures: Sequence[Measures]) -> list[str]:
    most = max((size for one in measures for size in one.history), default=1)
    long = max((len(one.history) for one in measures), default=1)
    lines = [f'<text x="0" y="-14" font-size="13">{escape(name)}: tokens in the window, request by request</text>']
    for step in range(_STEPS + 1):
        y = _HEIGHT - _HEIGHT * step / _STEPS
        label = f"{most * step / _STEPS / 1_000:,.0f}k"
        lines.append(f'<line x1="0" x2="{_WIDTH}" y1="{y:.0f}" y2="{y:.0f}" stroke="#dddddd"/>')
        lines.append(f'<text x="-6" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    lines.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 16}" text-anchor="end">{long} requests</text>')
    for at, one in enumerate(measures):
        colour = _COLOURS[at % len(_COLOURS)]
        lines.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="{2.4 if one.policy == "auto" else 1.4}" '
            f'points="{_points(one, most, long)}"/>'
        )
        lines.append(f'<text x="{_WIDTH + 10}" y="{12 + 16 * at}" fill="{colour}">{escape(one.policy)}</text>')
    return lines


def _points(one: Measures, most: int, long: int) -> str:
    every = max(1, len(one.history) // _POINTS)
    places = [at for at in range(len(one.history)) if at % every == 0 or at == len(one.history) - 1]
    return " ".join(
        f"{_WIDTH * at / max(1, long - 1):.1f},{_HEIGHT - _HEIGHT * one.history[at] / most:.1f}" for at in places
    )
