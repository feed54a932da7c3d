// Questions that come next, below the last answer: each has been tried and would be answered.
import { h, icon } from "../dom.js";
import { gettext } from "../i18n.js";

/** @param {string[]} questions @param {(text: string) => unknown} ask */
export function followUps(questions, ask) {
  return h("section", { class: "follow-ups", "aria-label": gettext("Ask next") },
    h("p", { class: "follow-ups-title", "aria-hidden": "true" }, gettext("Ask next")),
    h("ul", { class: "follow-up-list" }, questions.map((text) => h("li", {},
      h("button", { type: "button", class: "follow-up", dir: "auto", onclick: () => ask(text) }, h("span", {}, text), icon("right"))))));
}
