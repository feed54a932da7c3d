// Colours for code. Loaded with the first code block whose language is named.
import { h } from "../dom.js";
import highlight from "../vendor/highlight/highlight.js";

/** Puts spans around the words of the code; its text stays as it is. @param {HTMLElement} code @param {string} language */
export function colour(code, language) {
  if (!highlight.getLanguage(language)) return;
  const text = code.textContent ?? "";
  const template = h("template");
  // Escaped by highlight.js; elements other than its spans can't come of it.
  template.innerHTML = highlight.highlight(text, { language, ignoreIllegals: true }).value;
  if (template.content.textContent === text) code.replaceChildren(template.content);
}
