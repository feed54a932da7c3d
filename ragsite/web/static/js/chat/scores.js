// The scores of a passage, by their names.
import { h } from "../dom.js";
import { gettext } from "../i18n.js";

const SCORES = {
  final: gettext("Overall"), rerank: gettext("Relevance"), dense: gettext("By meaning"), bm25: gettext("By words"), fused: gettext("Combined"), boost: gettext("Feedback"),
};

/** What people call a score, or the leg of a search. @param {string} name */
export const scoreLabel = (name) => /** @type {Record<string, string>} */ (SCORES)[name] ?? name;

/**
 * The length of a score's bar, 0 to 1. Word and standard scores have no upper end; reciprocal ranks stay below 0.1.
 * @param {string} name
 * @param {number} value
 */
export function scoreShare(name, value) {
  const share = name === "bm25" ? value / (value + 8) : name === "boost" ? value / 2
    : name !== "fused" ? value : value < 0.1 ? value / 0.1 : value / (value + 3);
  return Math.max(0, Math.min(1, share));
}

/**
 * Each score by its name, with a bar.
 * @param {Record<string, number | null | undefined>} given @param {Record<string, string>} labels
 */
export function scoreRows(given, labels = SCORES) {
  return Object.entries(labels).flatMap(([name, label]) => {
    const value = given[name];
    if (value === undefined || value === null || (name === "boost" && value === 1)) return [];
    const bar = h("span", { class: "score-bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${scoreShare(name, value) * 100}%`);
    return [h("div", {}, h("dt", {}, label), h("dd", {}, bar, h("span", { class: "score-value" }, value.toFixed(value < 1 ? 3 : 2))))];
  });
}
