"""Analyses in a notebook: the ledger, the largest operators and the findings, small. The page has the rest."""
from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Iterable, List, Optional, Sequence

if TYPE_CHECKING:
    from .fields import Fields, Finding

_STYLE = "border-collapse:collapse;margin:.4em 0"
_NUMBER = "text-align:right;padding:1px 8px;white-space:nowrap"
_WORD = "text-align:left;padding:1px 8px"
_MOST_FINDINGS, _MOST_OPERATORS = 3, 5


def _gain(finding: Finding) -> str:
    if finding.predicted_gain_ms is None:
        return "what it wins is not predicted"
    return ("wins at most " if finding.gain_is_bound else "wins about ") + _ms(finding.predicted_gain_ms)


def analysis_html(analysis: Fields, page: Optional[str]) -> str:
    parts = ["<div style='max-width:60em'><p><b>%s</b></p>" % escape(analysis.verdict_sentence or "No verdict"),
             "<p>%s</p>" % escape("%s · %d steps of %s (%s)" % (
                 analysis.device or analysis.source, analysis.step.count, _ms(analysis.step.median_ms),
                 analysis.step.how_found))]
    parts.append(_table(("", "time", "share", "", "can win"), (
        (escape(row.cause.replace("_", " ")), _ms(row.ms), "%.1f %%" % (100 * row.share), _bar(row.share),
         _ms(row.predicted_gain_ms) if row.predicted_gain_ms > 0 else "") for row in analysis.ledger)))
    if analysis.findings:
        parts.append("<ol>%s</ol>" % "".join(
            "<li>%s<br><small>%s</small></li>" % (escape(finding.fix), _gain(finding))
            for finding in analysis.findings[:_MOST_FINDINGS]))
    if analysis.top:
        parts.append(_table(("operator", "time", "share", "", "why"), (
            (escape(row.name), _ms(row.ms), "%.1f %%" % (100 * row.share), _bar(row.share), escape(row.why))
            for row in analysis.top[:_MOST_OPERATORS])))
    parts += ["<p><small>%s</small></p>" % escape(warning) for warning in analysis.warnings]
    if page:
        parts.append("<p><a href='%s' target='_blank'>The whole report, with the step as a timeline</a></p>" %
                     escape(os.path.relpath(page), quote=True))
    return "".join(parts) + "</div>"


def text_html(text: str) -> str:
    return "<pre style='white-space:pre-wrap'>%s</pre>" % escape(text)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    out: List[str] = ["<table style='%s'><tr>" % _STYLE]
    out += ["<th style='%s'>%s</th>" % (_style(i), heading) for i, heading in enumerate(headings)]
    out.append("</tr>")
    for row in rows:
        out.append("<tr>%s</tr>" % "".join("<td style='%s'>%s</td>" % (_style(i), cell) for i, cell in enumerate(row)))
    return "".join(out) + "</table>"


def _style(column: int) -> str:
    return _NUMBER if column in (1, 2) else _WORD


def _bar(share: float) -> str:
    return "<div style='background:#4c78a8;height:.7em;width:%.1fem'></div>" % (12 * min(max(share, 0), 1))


def _ms(value: float) -> str:
    return "%.3g s" % (value / 1e3) if value >= 1e4 else "%.2f ms" % value
