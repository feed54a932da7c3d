"""HTML: what its viewer shows is read, what it hides is not."""

from __future__ import annotations

import pytest

from retrieval.knowledge.ingest.markup.html import parse_html


def texts(page: str) -> list[str]:
    return [block.text for block in parse_html(page.encode()).blocks]


def kinds(page: str) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in parse_html(page.encode()).blocks]


# ------------------------------------------------------------------------------------------------ visibility
@pytest.mark.parametrize(
    "attributes",
    [
        "hidden",
        'style="display:none"',
        'style="DISPLAY : none !important"',
        'style="visibility: hidden"',
        'style="font-size:0"',
        'style="opacity:0"',
        'style="position:absolute; left:-9999px"',
        'style="text-indent:-9999px"',
        'style="position:absolute;clip:rect(0,0,0,0)"',
        'style="height:0;overflow:hidden"',
        'style="color:#fff"',
        'style="background:navy;color:navy"',
        'style="color:transparent"',
        'class="gone"',
        'id="away"',
        'class="last"',
    ],
)
def test_what_styles_hide_is_not_read(attributes: str) -> None:
    sheet = "<style>@media screen { .gone { display: none } } #away { visibility: hidden } p ~ .last { opacity: 0 }</style>"
    assert texts(f"{sheet}<p>Open daily.</p><div {attributes}>All is free.</div>") == [
        "Open daily."
    ]


@pytest.mark.parametrize(
    "selector",
    [
        "div > p.gone",
        "section p",
        "h1 + div p",
        "h1 ~ div > .gone",
        "[data-off] p",
        "p:first-child",
        "p:not(.kept)",
        "* .gone",
    ],
)
def test_selectors_of_style_sheets_find_what_they_hide(selector: str) -> None:
    page = '<section><h1>Hours</h1><div data-off="1"><p class="gone">free</p></div></section>'
    assert texts(f"<style>{selector} {{ display: none }}</style>{page}") == ["Hours"]


def test_style_sheets_of_deep_pages_are_read_in_time() -> None:
    """The test's time limit is what fails."""
    sheet = "div div i div p { display: none } " * 200
    assert "words" in texts(f"<style>{sheet}</style>" + "<div>" * 200 + "<p>words</p>" * 2000)


@pytest.mark.parametrize(
    "page",
    [
        '<p aria-hidden="true">Open daily.</p>',
        '<p style="visibility:hidden">All <span style="visibility:visible">Open daily.</span></p>',
        '<div style="background:#003"><p style="color:white">Open daily.</p></div>',
        '<link rel="stylesheet" href="site.css"><p style="color:white">Open daily.</p>',
        "<style>@media print { p { display: none } }</style><p>Open daily.</p>",
        "<style>.a { display: none } p.a { display: block }</style><p class=a>Open daily.</p>",
        "<style>.a { display: none }</style><p class=a style='display:block'>Open daily.</p>",
    ],
)
def test_what_is_seen_is_read(page: str) -> None:
    assert texts(page) == ["Open daily."]


@pytest.mark.parametrize(
    "page",
    [
        '<button aria-expanded="false">Are dogs allowed?</button><div hidden>On a lead.</div>',
        '<h3><button aria-expanded="false">Are dogs allowed?</button></h3><div style="display:none">On a lead.</div>',
        '<button aria-controls="a1">Are dogs allowed?</button><p>See above.</p><div id="a1" hidden>On a lead.</div>',
        '<a role="tab" href="#a1">Are dogs allowed?</a><hr><div id="a1" hidden>On a lead.</div>',
        "<details><summary>Are dogs allowed?</summary>On a lead.</details>",
    ],
)
def test_a_button_is_the_heading_of_what_it_opens(page: str) -> None:
    found = [(block.kind, block.text) for block in parse_html(page.encode()).blocks]
    at = found.index(("heading", "Are dogs allowed?"))
    assert found[at + 1] == ("paragraph", "On a lead.")


# ------------------------------------------------------------------------------------------------ words
@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<p>The gate</p><p>closes</p>", ["The gate", "closes"]),
        ("<div>Cash<div>Card</div>Cheque</div>", ["Cash", "Card", "Cheque"]),
        ("<p>nine<br>to five</p>", ["nine\nto five"]),
        ("<p>Press <kbd>Ctrl</kbd><kbd>K</kbd></p>", ["Press Ctrl K"]),
        ("<p>10<sup>6</sup> m<sup>2</sup> of H<sub>2</sub>O</p>", ["10⁶ m² of H2O"]),
        ("<p>Fee: <del>40</del> 65 euros</p>", ["Fee: ~~40~~ 65 euros"]),
        (
            "<p>A <input value='Pier 6'> <input type=checkbox checked>Yes <input type=hidden value=no></p>",
            ["A Pier 6 ☑ Yes"],
        ),
        (
            "<p><math><mfrac><mi>a</mi><mi>b</mi></mfrac><msup><mi>x</mi><mn>2</mn></msup>"
            "<annotation>tex</annotation></math></p>",
            ["a/b x^2"],
        ),
        ("<svg><title>no</title><text>Pump</text><text>Tank</text></svg>", ["Pump\nTank"]),
    ],
)
def test_words_stand_as_they_are_seen(page: str, words: list[str]) -> None:
    assert texts(page) == words


def test_lists_keep_their_levels_and_labels() -> None:
    page = "<ol start=3><li>one<ol type=a><li>deep</li><li>deeper</li></ol></li><li>two<p>more</p></li></ol><ul><li>x</ul>"
    assert kinds(page) == [
        ("list_item", 1, "3. one"),
        ("list_item", 2, "a. deep"),
        ("list_item", 2, "b. deeper"),
        ("list_item", 1, "4. two"),
        ("paragraph", 0, "more"),
        ("list_item", 1, "- x"),
    ]


def test_styles_say_how_lists_are_labelled() -> None:
    page = (
        "<style>.s { list-style: none }</style><ol style='list-style-type: lower-roman'><li>one<li>two</ol>"
        "<ol class=s><li>(a) three</ol>"
    )
    assert texts(page) == ["i. one", "ii. two", "- (a) three"]


def test_a_definition_stands_with_its_term() -> None:
    late = "<dt>Late</dt><dt>Lost</dt><dd>9 euros</dd><dd>a day</dd>"
    page = f"<dl><dt>Deposit</dt><dd>80 euros</dd>{late}<dt>Other</dt></dl>"
    assert texts(page) == [
        "Deposit: 80 euros",
        "Late / Lost: 9 euros",
        "Late / Lost: a day",
        "Other",
    ]


# ------------------------------------------------------------------------------------------------ tables
def test_spans_and_heads_of_two_rows_are_named_in_every_row() -> None:
    page = (
        "<table><caption>Fees</caption><tr><th rowspan=2>Boat</th><th colspan=2>Winter</th></tr>"
        "<tr><th>Day</th><th>Week</th></tr><tr><td>Canoe</td><td>7</td><td>33</td></tr></table>"
    )
    assert texts(page) == [
        "Fees\nBoat | Winter · Day | Winter · Week\nBoat: Canoe; Winter · Day: 7; Winter · Week: 33"
    ]


def test_a_table_in_a_cell_is_told_in_its_row() -> None:
    inner = "<table><tr><th>Day</th><th>Week</th></tr><tr><td>5</td><td>9</td></tr></table>"
    page = f"<table><tr><th>Boat</th><th>Rates</th></tr><tr><td>Canoe</td><td>{inner}</td></tr></table>"
    assert texts(page) == ["Boat | Rates\nBoat: Canoe; Rates: Day: 5, Week: 9"]


def test_a_large_table_in_a_cell_follows_under_the_name_of_its_row() -> None:
    rows = "".join(f"<tr><td>Week number {n}</td><td>{n * 3} euros</td></tr>" for n in range(40))
    inner = f"<table><tr><th>When</th><th>Fee</th></tr>{rows}</table>"
    page = f"<table><tr><th>Boat</th><th>Rates</th></tr><tr><td>Canoe</td><td>{inner}</td></tr></table>"
    outer, large = texts(page)
    assert outer == "Boat | Rates\nBoat: Canoe"
    assert large.startswith("Canoe\nWhen | Fee\nWhen: Week number 0; Fee: 0 euros\n")


def test_names_beside_their_values_name_them() -> None:
    page = "<table><tr><th>Name</th><td>Wanda</td></tr><tr><th>Boat</th><td>Laser</td></tr></table>"
    assert texts(page) == ["Name | Boat\nName: Wanda; Boat: Laser"]


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr><td><h2>News</h2><p>The lift works.</p></td></tr></table>",
        "<table role=presentation><tr><td>News</td><td>The lift works.</td></tr></table>",
    ],
)
def test_a_table_for_layout_is_read_through(page: str) -> None:
    assert texts(page) == ["News", "The lift works."]


def test_what_has_no_text_is_told() -> None:
    document = parse_html(
        b"<p>Plan:</p><img src=a.png><img src=i.png width=16><svg><path/></svg><iframe src=x></iframe>"
    )
    assert [str(one) for one in document.unread] == ["1 picture without text", "2 drawings"]
