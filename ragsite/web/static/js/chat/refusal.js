// What a reader can do about a refusal, as the site's offers below it tell.
import { h, icon } from "../dom.js";
import { gettext, gettextWith } from "../i18n.js";

/** @param {Api.Answer["offers"]} offers @param {string} question */
export function refusalHint(offers, question) {
  if (offers.includes("count_form")) return h("div", {}, h("a", { class: "button small", href: formFor(question) }, icon("layers"), gettext("Fill in “Count and list”")));
  const link = h("a", { href: "/documents/" }, gettext("add a document"));
  if (offers.includes("add_documents")) {
    return notice("documents", h("p", {}, gettextWith("There are no documents here yet. Attach files to this conversation, {link}, or choose other collections.", { link })));
  }
  return notice("search", h("p", {}, gettextWith("Try other words, choose other collections, or {link}.", { link })));
}

/** @param {string} sign @param {HTMLElement} content */
const notice = (sign, content) => h("div", { class: "notice" }, icon(sign), h("div", {}, content));

/** The page puts the question's words into its form, and counts when the form is sent. @param {string} question */
const formFor = (question) => `/documents/count/?${new URLSearchParams({ question: question.slice(0, 200) })}`;
