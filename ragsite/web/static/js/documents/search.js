// A search by itself: what is found for a question, with the score and the rank that every leg gave.
import { api } from "../api.js";
import { byId, h, replace, seconds } from "../dom.js";
import { gettext, ngettext } from "../i18n.js";
import { errorToast } from "../ui.js";
import { placeIn } from "../chat/places.js";
import { scoreRows } from "../chat/scores.js";
import { drawPassage, loadMarkdown } from "../chat/stream_text.js";

/** @type {Record<string, string>} */
const SCORES = {
  dense: gettext("By meaning"), bm25: gettext("By words"), fused: gettext("Combined"), standing: gettext("Place, 0 to 1"), rerank: gettext("Relevance"),
  boost: gettext("Feedback"), final: gettext("Overall"),
};
const LEGS = { dense: gettext("By meaning"), bm25: gettext("By words") };
const EXCERPT = 500; // characters

const form = byId("search-form", HTMLFormElement);
const hits = byId("hits");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { query, collection, stage, top_k: topK } = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));
  hits.setAttribute("aria-busy", "true");
  try {
    await loadMarkdown().catch(() => {}); // without it passages are plain text
    /** @type {Api.SearchResult} */
    const result = await api.post("/api/search", {
      query, ...(collection ? { collections: [collection] } : {}), ...(stage ? { stages: [stage] } : {}), ...(topK ? { top_k: Number(topK) } : {}),
    });
    replace(hits, result.candidates.map(hitRow));
    const found = ngettext("{count} passage", "{count} passages", result.candidates.length);
    const total = result.timings_ms.total;
    byId("timings").textContent = [found, total === undefined ? "" : seconds(total), ...result.degraded].filter(Boolean).join(" · ");
    byId("timings").title = Object.entries(result.timings_ms).map(([name, ms]) => `${name} ${seconds(ms)}`).join(" · ");
  } catch (error) {
    errorToast(error);
  }
  hits.removeAttribute("aria-busy");
});

const asked = new URLSearchParams(location.search).get("query");
if (asked) {
  byId("s-query", HTMLInputElement).value = asked;
  form.requestSubmit();
}

/** @param {Api.Candidate} hit @param {number} index */
function hitRow(hit, index) {
  const place = [hit.page ? gettext("Page {page}", { page: hit.page }) : "", placeIn(hit)].filter(Boolean).join(" · ");
  const ranks = Object.entries(hit.ranks).map(([leg, rank]) => `${legName(leg)} ${gettext("no. {rank}", { rank })}`).join(" · ");
  return h("li", { class: "hit" },
    h("div", { class: "hit-head" }, h("span", { class: "hit-number" }, index + 1),
      h("a", { class: "doc-title", href: `/documents/${hit.document_id}/#chunk-${hit.chunk_id}` }, h("bdi", {}, hit.title)), h("span", { class: "doc-meta" }, place)),
    h("div", { class: "hit-text prose", dir: "auto" }, drawPassage(hit.text.length > EXCERPT ? `${hit.text.slice(0, EXCERPT)}…` : hit.text)),
    h("dl", { class: "hit-scores" }, scoreRows(hit.scores, SCORES)),
    ranks ? h("p", { class: "doc-meta" }, gettext("Ranks: {ranks}", { ranks })) : null);
}

/** A leg in words; its query stands before it where it is not the one that was typed. @param {string} leg `query:leg` */
function legName(leg) {
  const [query, kind] = leg.split(":");
  const name = LEGS[/** @type {keyof LEGS} */ (kind)] ?? kind ?? query;
  return kind === undefined || query === "original" ? name : `${query}: ${name}`;
}
