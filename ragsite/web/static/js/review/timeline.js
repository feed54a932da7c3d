// The decision path on one time scale: steps, and in each its model calls.
import { h, icon, seconds } from "../dom.js";
import { gettext } from "../i18n.js";
import { detailLabel, detailRow, isEmpty, stepLabel } from "../chat/path.js";
import { scoreLabel } from "../chat/source_panel.js";

const TICKS = 5;
const ROUND = [1, 2, 2.5, 5, 10];
/** @type {Record<string, string>} */
const STATUS = { skipped: gettext("Skipped"), degraded: gettext("Fallback used"), failed: gettext("Failed") };

/** @typedef {Api.ModelCall & {prompt_hash?: string, prefill_ms?: number | null, generation_ms?: number | null}} Call */

/** A step of a scale that is easy to read: 1, 2, 2.5 or 5 times a power of ten. @param {number} total ms */
export function tickWidth(total) {
  const power = 10 ** Math.floor(Math.log10(total / TICKS));
  return power * (ROUND.find((factor) => factor * power >= total / TICKS) ?? 10);
}

/** Where a span lies on the scale, in per cent; a span without length can still be seen. @param {number} from @param {number} took @param {number} total */
export function place(from, took, total) {
  const width = Math.max((took / total) * 100, 0.6);
  return { from: Math.min((from / total) * 100, 100 - width), width: Math.min(width, 100) };
}

/** What chunks are called, where their reader may know. @type {Record<string, string>} */
let names = {};

/** @param {Api.Step[]} steps @param {Api.Usage} usage @param {Record<string, string>} passages titles by chunk id */
export function timeline(steps, usage, passages = {}) {
  names = passages;
  const ends = steps.map((step) => step.started_ms + step.duration_ms);
  const total = Math.max(usage?.total_ms ?? 0, ...ends, 1);
  return h("div", { class: "timeline" }, axis(total, usage), h("ol", { class: "timeline-steps" }, steps.map((step) => stepRow(step, total))));
}

/** @param {number} total @param {Api.Usage} usage */
function axis(total, usage) {
  const width = tickWidth(total);
  const marks = Array.from({ length: Math.floor(total / width) + 1 }, (_, n) => n * width).filter((at) => at <= total * 0.9);
  return h("div", { class: "timeline-axis", "aria-hidden": "true" }, h("span", {}), h("span", { class: "timeline-scale" },
    marks.map((at) => at0(h("span", { class: "timeline-tick" }, at ? seconds(at) : "0"), at, total)),
    usage?.first_token_ms ? at0(h("span", { class: "timeline-first", title: gettext("First word") }), usage.first_token_ms, total) : null), h("span", {}));
}

/** @param {HTMLElement} element @param {number} at @param {number} total */
function at0(element, at, total) {
  element.style.setProperty("--from", `${(at / total) * 100}%`);
  return element;
}

/** @param {number} from @param {number} took @param {number} total @param {string} css */
function bar(from, took, total, css) {
  const element = h("span", { class: css });
  const shown = place(from, took, total);
  element.style.setProperty("--from", `${shown.from}%`);
  element.style.setProperty("--width", `${shown.width}%`);
  return element;
}

/** @param {Api.Step} step @param {number} total */
function stepRow(step, total) {
  const detail = step.detail || {};
  /** @type {Call[]} */
  const calls = Array.isArray(detail.model_calls) ? detail.model_calls : [];
  const details = Object.entries(detail).filter(([name, value]) => name !== "model_calls" && !isEmpty(value));
  const head = [
    h("span", { class: "timeline-name" }, stepLabel(step.name), STATUS[step.status] ? h("span", { class: "timeline-status" }, STATUS[step.status]) : null),
    h("span", { class: "timeline-track" }, bar(step.started_ms, step.duration_ms, total, "timeline-bar"),
      calls.map((call) => bar(call.started_ms, (call.ended_ms ?? call.started_ms) - call.started_ms, total, `timeline-call is-${call.kind}`))),
    h("span", { class: "timeline-time" }, seconds(step.duration_ms)),
    step.summary ? h("span", { class: "timeline-summary" }, step.summary) : null,
  ];
  const body = [
    details.length ? h("dl", { class: "path-detail" }, details.map((entry) => passageRow(entry) ?? detailRow(entry))) : null,
    calls.length ? h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": gettext("Model calls") }, callTable(calls)) : null,
  ];
  return h("li", { class: `timeline-step is-${step.status}` }, details.length || calls.length
    ? h("details", {}, h("summary", { class: "timeline-row" }, head, icon("chevron")), body)
    : h("div", { class: "timeline-row" }, head));
}

/** @param {string} id */
const passageName = (id) => names[id] ?? id.slice(0, 8);

/**
 * Details by passage as a table: candidates with rank and score of each leg, scores, boosts with where they come from.
 * @param {[string, any]} entry
 */
function passageRow([key, value]) {
  const columns = passageTable(key, value);
  if (!columns) return null;
  const [head, rows] = columns;
  return h("div", { class: "is-wide" }, h("dt", {}, detailLabel(key)), h("dd", {}, h("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": detailLabel(key) },
    h("table", { class: "review-table" }, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, typeof cell === "number" && !Number.isInteger(cell) ? cell.toFixed(3) : cell ?? "–")))))))));
}

/** @param {string} key @param {any} value @returns {[string[], any[][]] | null} head and rows */
export function passageTable(key, value) {
  if (key === "candidates" && Array.isArray(value) && value.every((row) => row?.chunk_id)) {
    const legs = [...new Set(value.flatMap((row) => Object.keys(row.ranks || {})))];
    const scores = [...new Set(value.flatMap((row) => Object.keys(row.scores || {})))];
    return [[gettext("Passage"), ...scores.map(scoreLabel), ...legs.map((leg) => gettext("Rank, {leg}", { leg: scoreLabel(leg) }))],
      value.map((row) => [passageName(row.chunk_id), ...scores.map((name) => row.scores?.[name]), ...legs.map((leg) => row.ranks?.[leg])])];
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  if (key === "scores" && Object.values(value).every((score) => typeof score === "number")) {
    return [[gettext("Passage"), gettext("Score")], Object.entries(value).sort((a, b) => b[1] - a[1]).map(([id, score]) => [passageName(id), score])];
  }
  if (key === "boosts" && Object.values(value).every((boost) => boost && typeof boost === "object")) {
    const parts = [...new Set(Object.values(value).flatMap((boost) => Object.keys(boost)))];
    return [[gettext("Passage"), ...parts.map((part) => part.replaceAll("_", " "))], Object.entries(value).map(([id, boost]) =>
      [passageName(id), ...parts.map((part) => (typeof boost[part] === "object" ? JSON.stringify(boost[part]) : boost[part]))])];
  }
  return null;
}

/** @param {Call[]} calls */
function callTable(calls) {
  const columns = [gettext("Model"), gettext("Prompt"), gettext("Began"), gettext("Took"), gettext("Reading"), gettext("Writing"), gettext("Tokens")];
  return h("table", { class: "review-table" },
    h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, calls.map((call) => h("tr", { class: call.error ? "is-failed" : null },
      h("td", {}, call.model || call.kind, call.error ? h("p", { class: "review-error" }, call.error) : null),
      h("td", {}, call.prompt || "–", call.prompt_hash ? h("code", {}, ` ${call.prompt_hash}`) : null),
      h("td", {}, seconds(call.started_ms)),
      h("td", {}, call.ended_ms === null ? gettext("not ended") : seconds(call.ended_ms - call.started_ms)),
      h("td", {}, seconds(call.prefill_ms) || "–"), h("td", {}, seconds(call.generation_ms) || "–"),
      h("td", {}, call.prompt_tokens || call.completion_tokens ? `${call.prompt_tokens} → ${call.completion_tokens}` : "–")))));
}
