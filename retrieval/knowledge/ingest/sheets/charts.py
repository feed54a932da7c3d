"""The figures of a chart in an Office file: its categories and series as the table that they were drawn from."""

from __future__ import annotations

from lxml import etree

from retrieval.knowledge.ingest.blocks import Table

CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MAX_POINTS = 5_000  # of a series
MAX_SERIES = 200
LEVELS = " · "


def chart_table(root: etree._Element) -> Table | None:
    """None for one without figures. root: of the chart's part."""
    series = [found for _, found in zip(range(MAX_SERIES), root.iter(f"{CHART}ser"), strict=False)]
    names: list[str] = []
    columns: list[dict[int, str]] = []
    categories: dict[int, str] = {}
    for number, one in enumerate(series, 1):
        values = _points(one.find(f"{CHART}val")) or _points(one.find(f"{CHART}yVal"))
        if not values:
            continue
        names.append(" ".join(_points(one.find(f"{CHART}tx")).values()) or str(number))
        columns.append(values)
        for at, name in (
            _points(one.find(f"{CHART}cat")) or _points(one.find(f"{CHART}xVal"))
        ).items():
            categories.setdefault(at, name)
    if not columns:
        return None
    places = sorted({at for values in columns for at in values})
    rows = [(categories.get(at, ""), *(values.get(at, "") for values in columns)) for at in places]
    return Table(rows=(("", *names), *rows), head_rows=1, caption=_title(root))


def _title(root: etree._Element) -> str:
    """With those of the axes, which say what the figures are."""
    titles = [_text(title) for title in root.iter(f"{CHART}title")]
    return LEVELS.join(dict.fromkeys(filter(None, titles)))


def _text(element: etree._Element) -> str:
    texts = [text.text or "" for text in element.iter(f"{TEXT}t")]
    return " ".join("".join(texts).split())


def _points(element: etree._Element | None) -> dict[int, str]:
    """The values that were stored with the chart, by their numbers; those of several levels together."""
    if element is None:
        return {}
    levels = list(element.iter(f"{CHART}lvl")) or [element]
    points: dict[int, str] = {}
    for level in reversed(levels):
        found = [
            point for _, point in zip(range(MAX_POINTS), level.iter(f"{CHART}pt"), strict=False)
        ]
        known = {
            int(point.get("idx", "0")): (point.findtext(f"{CHART}v") or "").strip()
            for point in found
        }
        if len(levels) > 1 and points:
            outer = ""
            for at in sorted(known.keys() | points.keys()):
                outer = points.get(at, outer)
                points[at] = outer
            known = {
                at: LEVELS.join(filter(None, (points.get(at, ""), name)))
                for at, name in known.items()
            }
        points = {**points, **known}
    if not points and levels == [element]:
        value = element.findtext(f".//{CHART}v")
        points = {0: value.strip()} if value else {}
    return {at: _plain(text) for at, text in points.items() if text}


def _plain(text: str) -> str:
    """A number without the digits that floating point adds."""
    try:
        return f"{float(text):.15g}" if "." in text or "e" in text.lower() else text
    except ValueError:
        return text
