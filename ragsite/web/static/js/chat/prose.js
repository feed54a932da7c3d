// What the elements of an answer's text get: frames that scroll, a button to copy code, formulas, colours of code. The
// same while it is written and afterwards, so that nothing moves in the end.
import { h, iconButton } from "../dom.js";
import { gettext } from "../i18n.js";
import { copyText } from "../ui.js";

const MAX_COLOURED_CHARS = 20_000;
const NO_LANGUAGE = new Set(["text", "txt", "plain", "plaintext", "console", "output", "none"]);

/** @type {typeof import("./math.js") | null} */
let math = null;
/** @type {Promise<void> | null} */
let loading = null;

/** @param {ParentNode & Element} root elements as the server renders them @param {{finished?: boolean}} options */
export function dressProse(root, { finished = false } = {}) {
  for (const link of root.querySelectorAll(/** @type {"a"} */ ("a:not(.citation)"))) link.target = "_blank";
  for (const table of root.querySelectorAll("table")) frameTable(table);
  for (const code of root.querySelectorAll("pre")) frameCode(code);
  for (const block of root.querySelectorAll(".formula-block")) {
    for (const [name, value] of Object.entries(reachable(gettext("Formula")))) block.setAttribute(name, value);
  }
  drawFormulas(root);
  if (finished) colourCode(root);
}

/** What scrolls sideways is reached by the keyboard, too. @param {string} label */
const reachable = (label) => ({ tabindex: "0", role: "group", "aria-label": label });

/** @param {HTMLTableElement} table */
function frameTable(table) {
  if (table.parentElement?.classList.contains("table-frame")) return;
  const frame = h("div", { class: "table-frame", ...reachable(gettext("Table")) });
  table.replaceWith(frame);
  frame.append(table);
}

/** @param {HTMLPreElement} pre */
function frameCode(pre) {
  if (pre.parentElement?.classList.contains("code-frame")) return;
  const language = languageOf(pre.querySelector("code"));
  for (const [name, value] of Object.entries(reachable(gettext("Code")))) pre.setAttribute(name, value);
  const copy = iconButton("copy", gettext("Copy the code"), () => copyText(pre.textContent ?? "", copy), { class: "small" });
  const box = h("div", { class: "code-frame" }, h("div", { class: "code-head" }, h("span", {}, language), copy));
  pre.replaceWith(box);
  box.append(pre);
}

/** @param {Element | null} code */
const languageOf = (code) => /(?:^| )language-([\w+#.-]{1,20})/.exec(code?.getAttribute("class") ?? "")?.[1].toLowerCase() ?? "";

/** @param {ParentNode & Element} root */
async function drawFormulas(root) {
  if (!root.querySelector("code.formula")) return;
  if (!math) {
    loading ??= loadMath();
    await loading;
  }
  if (!math) return; // the TeX stays, which says the same
  for (const code of root.querySelectorAll(/** @type {"code"} */ ("code.formula"))) {
    const drawn = math.drawFormula(code.textContent ?? "", code.parentElement?.classList.contains("formula-block") ?? false);
    if (drawn) code.replaceWith(drawn);
  }
}

async function loadMath() {
  const address = document.querySelector("[data-math-styles]")?.getAttribute("data-math-styles");
  if (!address) return; // a page that shows TeX as it is written
  try {
    math = await import("./math.js");
    document.head.append(h("link", { rel: "stylesheet", href: address }));
  } catch {
    loading = null;
  }
}

/** @param {ParentNode & Element} root */
async function colourCode(root) {
  const blocks = [...root.querySelectorAll(/** @type {"code"} */ ("pre code"))].filter((code) => {
    const language = languageOf(code);
    return language && !NO_LANGUAGE.has(language) && (code.textContent ?? "").length <= MAX_COLOURED_CHARS;
  });
  if (!blocks.length) return;
  try {
    const { colour } = await import("./code_colours.js");
    for (const code of blocks) colour(code, languageOf(code));
  } catch {
    // Without colours it says the same.
  }
}
