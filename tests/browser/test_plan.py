"""The workflow `planned` on the page: its tasks, live, and afterwards in the decision path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Site
from tests.browser.test_journey import ask, choose_workflow, sign_up, upload

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

OpenPage = Callable[..., Page]
HALLS = """# Halls of residence

## Lakeside

The deposit for a room in Lakeside hall is EUR 300. It is paid back when the key is handed in.

# Examinations

## Resits

A late resit costs EUR 55. It is registered for in the examination office.
"""
COMPARISON = "How much must I put down to live by the lake, and what is it to sit a missed examination again?"
ANSWER = "The deposit is EUR 300 [1]. A late resit costs EUR 55 [2]."
REWORDING = "write search queries for a document search"


def task(id_: str, type_: str, input_: str, *depends_on: str) -> dict[str, Any]:
    return {"id": id_, "type": type_, "input": input_, "depends_on": list(depends_on), "priority": 1}


@pytest.fixture(autouse=True)
def _planner(site: Site) -> None:
    tasks = [
        task("t1", "rewrite", "deposit for a room"),
        task("t2", "retrieve", "cost of a late resit"),
        task("t3", "retrieve", "", "t1"),
    ]
    site.ollama.reset()
    site.ollama.reply(match='"query_type"', json={"query_type": "comparison", "complexity": "complex", "tasks": tasks})
    site.ollama.reply(structured=False, text=ANSWER)


def ask_planned(page: Page, folder: Path) -> Locator:
    sign_up(page)
    upload(page, folder, HALLS)
    page.goto("/")
    choose_workflow(page, "Planned")
    return ask(page, COMPARISON)


def of_task(answer: Locator, input_: str) -> Locator:
    return answer.locator(".plan-task", has_text=input_)


@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_tasks_are_shown_with_their_states_while_they_run(
    open_page: OpenPage, site: Site, tmp_path: Path, device: dict[str, Any]
) -> None:
    site.ollama.reply(match=REWORDING, json={"queries": ["deposit"]}, stall_after=0)  # t1 is never done
    page = open_page(device)
    answer = ask_planned(page, tmp_path)
    expect(of_task(answer, "deposit for a room")).to_contain_text("Running")
    expect(of_task(answer, "cost of a late resit")).to_contain_text("Done")
    expect(of_task(answer, "after t1")).to_contain_text("Waiting")
    expect(answer.locator(".plan-task")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Stop the answer").click()
    expect(answer).to_contain_text("You stopped this answer; it can be continued.")
    expect(answer.locator(".answer-status .plan")).to_have_count(0)


def test_the_plan_stays_in_the_decision_path(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.ollama.reply(match=REWORDING, json={"queries": ["Lakeside hall deposit"]})
    page = open_page(DESKTOP)
    answer = ask_planned(page, tmp_path)
    expect(answer.get_by_role("button", name="Copy the answer")).to_be_visible()
    expect(answer.locator(".plan")).to_have_count(0)
    answer.locator(".path-toggle > summary").click()
    step = answer.locator('[data-step="plan"]').first
    step.locator("summary").click()
    expect(step.locator(".plan-task")).to_have_count(3)
    for one in step.locator(".plan-task").all():
        expect(one).to_contain_text("Done")
    page.reload()
    answer.locator(".path-toggle > summary").click()
    step.locator("summary").click()
    expect(step.locator(".plan-task").first).to_contain_text("Rephrase")
