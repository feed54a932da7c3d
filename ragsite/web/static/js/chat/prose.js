// What the elements of an answer's text get: frames that scroll, a button to copy code, formulas as MathML, which browsers
// draw themselves. The same while it is written and afterwards, so that nothing moves in the end.
import { h, iconButton } from "../dom.js";
import { gettext } from "../i18n.js";
import { copyText } from "../ui.js";

/** @param {ParentNode & Element} root elements as the server renders them */
export function dressProse(root) {
  for (const link of root.querySelectorAll(/** @type {"a"} */ ("a:not(.citation)"))) link.target = "_blank";
  for (const table of root.querySelectorAll("table")) frameTable(table);
  for (const code of root.querySelectorAll("pre")) frameCode(code);
  for (const block of root.querySelectorAll(".formula-block")) makeReachable(block, gettext("Formula"));
  if (root.querySelector("code.formula")) drawFormulas(root).catch(() => {}); // the TeX stays, which says the same
}

/** What scrolls sideways is reached by the keyboard, too. @param {Element} element @param {string} label */
function makeReachable(element, label) {
  for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": label })) element.setAttribute(name, value);
}

/** @param {HTMLTableElement} table */
function frameTable(table) {
  if (table.parentElement?.classList.contains("table-frame")) return;
  const frame = h("div", { class: "table-frame" });
  makeReachable(frame, gettext("Table"));
  table.replaceWith(frame);
  frame.append(table);
}

/** @param {HTMLPreElement} pre */
function frameCode(pre) {
  if (pre.parentElement?.classList.contains("code-frame")) return;
  const language = /(?:^| )language-([\w+#.-]{1,20})/.exec(pre.querySelector("code")?.getAttribute("class") ?? "")?.[1].toLowerCase();
  makeReachable(pre, gettext("Code"));
  const copy = iconButton("copy", gettext("Copy the code"), () => copyText(pre.textContent ?? "", copy), { class: "small" });
  const box = h("div", { class: "code-frame" }, h("div", { class: "code-head" }, h("span", {}, language), copy));
  pre.replaceWith(box);
  box.append(pre);
}

/** @param {ParentNode & Element} root */
async function drawFormulas(root) {
  const address = document.querySelector("[data-math-styles]")?.getAttribute("data-math-styles");
  if (!address) return; // a page that shows TeX as it is written
  const { default: temml } = await import("../vendor/temml/temml.js");
  if (!document.querySelector(`link[href="${address}"]`)) document.head.append(h("link", { rel: "stylesheet", href: address }));
  for (const code of root.querySelectorAll(/** @type {"code"} */ ("code.formula"))) {
    const element = h("span", { class: "formula" });
    const displayMode = code.parentElement?.classList.contains("formula-block") ?? false;
    try {
      temml.render(code.textContent ?? "", element, { displayMode, throwOnError: true, trust: false, maxExpand: 200, maxSize: [20, 20] });
    } catch {
      continue; // no TeX
    }
    code.replaceWith(element);
  }
}
