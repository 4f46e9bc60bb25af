"""The page of a comparison: tables and pictures in one file, without a script; light and dark."""

from __future__ import annotations

import base64
import io
from html import escape

from matplotlib import rc_context
from matplotlib.figure import Figure

from . import comparison_figures as figures
from . import style
from .comparison import Comparison, Entrant, Group, agents_words, chance_words, number_words
from .offline import GENERATOR, asset, policy
from .text import isolated, short

CSS = """
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 36px 44px; }
.pictures figure { margin: 0; }
.pictures img { width: 100%; max-width: 560px; height: auto; display: block; }
.pictures img.dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  .pictures img.light { display: none; }
  .pictures img.dark { display: block; }
}
table.compared { margin: 0 0 8px; }
section > h3 { margin-top: 30px; }
section > .pictures { margin-top: 40px; }
.compared td, .compared th { padding: 7px 14px 7px 0; white-space: nowrap; }
.compared tbody th { text-align: left; font-weight: 500; }
.compared .decided { font-weight: 700; }
@media (max-width: 600px) { .compared tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 30vw; } }
"""
DPI = 96


def comparison_html(comparison: Comparison) -> str:
    """Returns the comparison as a self-contained page: no script, no network."""
    css = style.css() + asset("report.css") + CSS
    title = comparison.title
    grouped = len(comparison.groups) > 1
    said = "Runs are grouped by environment; returns of different environments are not added up. " if grouped else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(css, "")}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{GENERATOR}\n<title>{escape(title)}</title>\n<style>{css}</style>\n"
        "</head>\n<body>\n<main>\n<header>"
        f'<p class="kicker">Kousoku comparison</p><h1>{escape(title)}</h1>'
        f'<p class="sentence">{said}Each agent’s score is the mean return of its greedy episodes.</p></header>\n'
        + "\n".join(_section(group) for group in comparison.groups)
        + "\n</main>\n</body>\n</html>\n"
    )


def _section(group: Group) -> str:
    best = "" if group.optimum is None else f" The optimum, from the exact model, is {short(group.optimum)}."
    few = "" if figures.has_intervals(group) else " Fewer than four agents have no interval."
    lead = (
        "IQM is the mean of the middle half. Intervals are of 95%: a mean\u2019s is Student\u2019s t, all others are "
        f"bootstrapped.{few}{best}"
    )
    warned = [f'<p class="note">{escape(warning)}</p>' for warning in group.warnings]
    parts = [f"<h2>{escape(isolated(group.env))}</h2>", f'<p class="lead">{escape(lead)}</p>', *warned, _table(group)]
    if len(group.entrants) == 1:
        return _joined([*parts, '<p class="note">There is no other run on this environment.</p>'])
    return _joined([*parts, _wins(group), f'<div class="pictures">{_pictures(group)}</div>'])


def _joined(parts: list[str]) -> str:
    return f"<section>{''.join(parts)}</section>"


def _table(group: Group) -> str:
    head = _row(["", "agents", "IQM", "mean"], "th")
    body = [
        _row([agents_words(one), number_words(one.iqm), number_words(one.mean)], "td", one) for one in group.entrants
    ]
    return _scrolled(head, body)


def _wins(group: Group) -> str:
    """Writes the matrix of the probabilities of improvement; those whose interval leaves out a half are bold."""
    head = _row(["", *map(isolated, group.columns)], "th")
    body: list[str] = []
    for name, one in zip(group.rows, group.entrants, strict=True):
        cells: list[str] = []
        for other in group.entrants:
            if one is other:
                cells.append('<td class="number">–</td>')
                continue
            found = one.better_than(other)
            decided = " decided" if float(found.low) > 0.5 or float(found.high) < 0.5 else ""
            cells.append(f'<td class="number{decided}">{chance_words(found)}</td>')
        body.append(f'<tr><th scope="row">{escape(isolated(name))}</th>{"".join(cells)}</tr>')
    said = "That an agent of the row has a higher return than one of the column; bold if the interval leaves out 0.5."
    return f'<h3>Probability of improvement</h3><p class="note">{said}</p>' + _scrolled(head, body)


def _row(cells: list[str], kind: str, one: Entrant | None = None) -> str:
    scope = ' scope="col"' if kind == "th" else ""
    first = "" if one is None else f'<th scope="row">{escape(isolated(one.name))}</th>'
    others = (f'<{kind}{scope} class="number">{escape(cell)}</{kind}>' for cell in cells)
    return f"<tr>{first}{''.join(others)}</tr>"


def _scrolled(head: str, body: list[str]) -> str:
    table = f'<table class="compared"><thead>{head}</thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="table">{table}</div>'


def _pictures(group: Group) -> str:
    drawn = [
        ("Learning curves over steps", figures.learning(group, "steps")),
        ("Learning curves over time", figures.learning(group, "seconds")),
        ("Interquartile mean", figures.intervals(group, "IQM")),
        ("Mean", figures.intervals(group, "mean")),
        ("Performance profile: agents above a return", figures.profile(group)),
        ("Probability of improvement", figures.improvement(group)),
    ]
    return "".join(
        f"<figure><h3>{name}</h3>{_picture(figure, f'{name}: {isolated(group.env)}')}</figure>"
        for name, figure in drawn
        if figure is not None
    )


def _picture(figure: Figure, alt: str) -> str:
    """Embeds a figure twice: as it was drawn, and in the colours of the dark scheme.

    The page's style shows one: of `picture` and its sources a browser may print the one that was on the screen.
    """
    width, height = (round(size * DPI) for size in figure.get_size_inches())
    text = _svg(figure)
    light, dark = (base64.b64encode(t.encode()).decode() for t in (text, _darkened(text)))
    kind = "data:image/svg+xml;base64,"
    size = f'alt="{escape(alt)}" width="{width}" height="{height}"'
    return f'<img class="light" src="{kind}{light}" {size}><img class="dark" src="{kind}{dark}" {size}>'


def _svg(figure: Figure) -> str:
    """Returns a figure as SVG; the same one each time."""
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": "kousoku", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _darkened(text: str) -> str:
    """Returns a picture with each colour of the light scheme as it is in the dark one, all in one pass."""
    light, dark = ((*style.COLORS[scheme].values(), *style.SERIES[scheme]) for scheme in style.SCHEMES)
    pairs = dict(zip(light, dark, strict=True))
    pieces = text.split("#")
    return pieces[0] + "".join(pairs.get(f"#{p[:6]}", f"#{p[:6]}") + p[6:] for p in pieces[1:])
