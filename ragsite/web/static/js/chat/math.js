// TeX as MathML, which browsers draw themselves. Loaded with the first formula.
import { h } from "../dom.js";
import temml from "../vendor/temml/temml.js";

const KEPT = 500;
/** @type {Map<string, HTMLElement | null>} null: it is no TeX */
const drawn = new Map();

/** @param {string} tex @param {boolean} display on a line of its own @returns {HTMLElement | null} null when it is not TeX */
export function drawFormula(tex, display) {
  const key = `${display}${tex}`;
  if (!drawn.has(key)) {
    if (drawn.size >= KEPT) drawn.clear();
    drawn.set(key, draw(tex, display));
  }
  return /** @type {HTMLElement | null} */ (drawn.get(key)?.cloneNode(true) ?? null);
}

/** @param {string} tex @param {boolean} display */
function draw(tex, display) {
  const element = h("span", { class: "formula" });
  try {
    temml.render(tex, element, { displayMode: display, throwOnError: true, trust: false, maxExpand: 200, maxSize: [20, 20] });
  } catch {
    return null;
  }
  return element;
}
