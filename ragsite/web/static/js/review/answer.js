// One answer at the desk: what its user saw, beside how it came about.
import { Answer } from "../chat/answer.js";
import { markTexts } from "../chat/evidence.js";
import { decisionPath } from "../chat/path.js";
import { isWeb, placeIn, webPlace } from "../chat/places.js";
import { scoreRows } from "../chat/scores.js";
import { drawPassage, loadMarkdown } from "../chat/stream_text.js";
import { bootData, byId, dateOf, h, icon, query, replace } from "../dom.js";
import { DATES, gettext, ngettext } from "../i18n.js";
import { labelOf } from "../labels.js";
import { errorToast } from "../ui.js";
import { listenForKeys } from "./keys.js";
import { STATES, assignDialog, labelDialog, mark, noteDialog, setState } from "./marking.js";

await loadMarkdown().catch(() => {}); // without it passages are plain text
/** @type {Boot.ReviewedAnswer} */
const boot = bootData();
const { answer: reviewed } = boot;
/** @type {Api.Review} */
let review = reviewed;

/** As in the chat, but for what only its user may do: rate it, have it written anew. */
class SeenAnswer extends Answer {
  showActions() {}

  showSources() {}
}

// ------------------------------------------------------------------------------------------- what the user saw
const thread = byId("seen");
for (const message of reviewed.earlier) draw(message, byId("earlier"));
byId("earlier-part").hidden = !reviewed.earlier.length;
replace(byId("earlier-title"), ngettext("{count} earlier message", "{count} earlier messages", reviewed.earlier.length));
if (reviewed.question) thread.append(questionBubble(reviewed.question));
draw(reviewed.message, thread);

/** @param {string} text */
function questionBubble(text) {
  return h("article", { class: "question", "aria-label": gettext("Question") }, h("p", { dir: "auto" }, text));
}

/** @param {Api.Message} message @param {HTMLElement} list */
function draw(message, list) {
  if (message.role === "user") {
    list.append(questionBubble(message.text));
    return;
  }
  const shown = new SeenAnswer({ source: (_, evidence, index) => showSource(evidence[index]), option: () => {}, regenerate: () => {}, retry: () => {} }, message.reply_to);
  shown.finish(message);
  for (const button of shown.element.querySelectorAll(/** @type {"button"} */ (".notice .button, .option"))) button.disabled = true;
  list.append(shown.element);
}

// ------------------------------------------------------------------------------------------- how it came about
replace(byId("path"), reviewed.message.decision_path.length
  ? decisionPath(reviewed.message.decision_path, reviewed.message.usage, reviewed.passages)
  : h("p", { class: "muted" }, reviewed.path_deleted ? gettext("Its steps were deleted, because the answer is too old.") : gettext("No step is stored.")));
replace(byId("sources"), reviewed.message.sources.length
  ? reviewed.message.sources.map(sourceRow)
  : h("p", { class: "muted" }, gettext("No passage was given to the model.")));

/** @param {Api.GivenRating} rating */
const verdictOf = ({ score }) => (score >= 4 ? gettext("Thumbs up") : score <= 2 ? gettext("Thumbs down") : gettext("Rated average"));

/** @param {Api.Source} source */
function sourceRow(source) {
  const boost = reviewed.message.decision_path.filter(({ name }) => name === "boost").map(({ detail }) => detail?.boosts?.[source.chunk_id]).findLast(Boolean);
  const given = reviewed.ratings.filter((rating) => rating.source === source.marker);
  const where = isWeb(source) ? webPlace(source) : [source.page ? gettext("p. {page}", { page: source.page }) : "", placeIn(source)].filter(Boolean).join(" · ");
  const scores = scoreRows(source.scores);
  return h("details", { class: "review-source", id: `source-${source.marker}` },
    h("summary", {}, h("span", { class: "source-number" }, source.marker),
      h("span", { class: "review-source-title" }, source.title, where ? h("span", { class: "muted" }, ` ${where}`) : null),
      source.cited ? h("span", { class: "chip" }, gettext("cited")) : null,
      given.map((rating) => h("span", { class: "chip is-reason" }, verdictOf(rating))), icon("chevron")),
    h("blockquote", { class: "passage prose", dir: "auto" }, drawPassage(source.text)),
    scores.length ? h("dl", { class: "review-scores" }, scores) : null,
    boost ? h("p", { class: "muted" }, gettext("Feedback: {origin}.", { origin: boost.origin || boost.factor || "" })) : null,
    source.document_id && !isWeb(source) ? h("a", { href: `/documents/${source.document_id}/#chunk-${source.chunk_id}` }, gettext("Open in document")) : null,
    source.document_id && !isWeb(source) && boot.rights.includes("curate") ? h("a", { class: "review-source-action", href: `/review/boosts/new/?${new URLSearchParams({ document: source.document_id, chunk: source.chunk_id, answer: review.message_id })}` }, gettext("Change this source's rank")) : null);
}

/** @param {import("../chat/evidence.js").Evidence | undefined} evidence */
function showSource(evidence) {
  const element = evidence?.source && document.getElementById(`source-${evidence.source.marker}`);
  if (!evidence || !(element instanceof HTMLDetailsElement)) return;
  element.open = true;
  const passage = query(element, ".passage");
  replace(passage, drawPassage(evidence.source.text));
  const found = markTexts(passage, evidence.quotes);
  (found ?? element).scrollIntoView({ block: "center" });
  query(element, "summary").focus({ preventScroll: true });
}

// ------------------------------------------------------------------------------------------- ratings, prompts, history
replace(byId("ratings"), reviewed.ratings.length ? reviewed.ratings.map((rating) => h("li", {},
  h("strong", {}, verdictOf(rating)), rating.source === null ? "" : ` ${gettext("for source {number}", { number: rating.source })}`,
  rating.tags.length ? ` · ${rating.tags.map((tag) => labelOf("tags", tag)).join(gettext(", "))}` : "",
  rating.user ? h("span", { class: "muted" }, ` · ${rating.user}`) : null,
  rating.comment ? h("p", { dir: "auto" }, rating.comment) : null)) : h("li", { class: "muted" }, gettext("Nobody has rated it.")));
replace(byId("filled"), reviewed.filled_prompts.map(({ step, name, text }) => h("details", { class: "review-prompt" },
  h("summary", {}, gettext("{name}, as sent in step {step}", { name, step }), icon("chevron")),
  text === null ? h("p", { class: "muted" }, gettext("It was not stored, because it contained what is remembered for the user.")) : h("pre", { dir: "auto" }, text))));

/** @param {Api.Time} at */
const moment = (at) => `${dateOf(at)} ${new Date(at).toLocaleTimeString(DATES, { hour: "2-digit", minute: "2-digit" })}`;
/** @type {Record<string, string>} */
const KINDS = { state: gettext("State"), assignee: gettext("Assigned"), note: gettext("Note"), labels: gettext("Labels") };

/** @param {unknown} value */
function told(value) {
  if (Array.isArray(value)) return value.join(gettext(", ")) || "–";
  return Object.hasOwn(STATES, String(value)) ? STATES[/** @type {import("./marking.js").State} */ (value)] : String(value || "–");
}

function drawHistory() {
  replace(byId("history"), reviewed.history.length ? reviewed.history.map(({ kind, by, at, detail }) => h("li", {},
    h("span", { class: "muted" }, `${moment(at)} · ${by}`), h("p", {}, kind === "note" ? told(detail.to) : `${KINDS[kind]}: ${told(detail.from)} → ${told(detail.to)}`)))
    : h("li", { class: "muted" }, gettext("Nothing has been changed.")));
  replace(byId("readers"), reviewed.read_by.map(({ by, at }) => h("li", {}, by, h("span", { class: "muted" }, ` · ${moment(at)}`))));
}

// ------------------------------------------------------------------------------------------- marks
function drawMarks() {
  for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-mark]"))) button.setAttribute("aria-pressed", String(button.dataset.mark === review.state));
  replace(byId("assign"), icon("people"), review.assignee ?? gettext("Assign"));
  replace(byId("labels"), review.labels.map((label) => h("span", { class: "chip is-label" }, label)));
  replace(byId("note"), review.note);
  byId("note").hidden = !review.note;
}

/** @param {Api.Review} changed */
async function show(changed) {
  review = changed;
  drawMarks();
  const { history, read_by: readers } = await (await fetch(`/api/review/answers/${review.message_id}`)).json().catch(() => reviewed);
  Object.assign(reviewed, { history, read_by: readers });
  drawHistory();
}

/** @param {import("./marking.js").Changes} changes */
async function change(changes) {
  show(await mark(review.message_id, changes));
}

/** @param {import("./marking.js").State} state */
const markState = (state) => setState(review.message_id, state, review.state, show);
const assign = () => assignDialog(boot.people, review.assignee, (assignee) => change({ assignee }));
const label = () => labelDialog(boot.labels, review.labels, (labels) => change({ labels }));
const note = () => noteDialog(review.note, (text) => change({ note: text }));
/** @param {string} id of a link */
const follow = (id) => () => /** @type {HTMLElement | null} */ (document.getElementById(id))?.click();

for (const button of document.querySelectorAll(/** @type {"button"} */ ("[data-mark]"))) {
  button.addEventListener("click", () => markState(/** @type {import("./marking.js").State} */ (button.dataset.mark)));
}
byId("assign").addEventListener("click", assign);
byId("label").addEventListener("click", label);
byId("write-note").addEventListener("click", note);
drawMarks();
drawHistory();
listenForKeys({
  j: follow("after"), k: follow("before"), u: follow("back"),
  r: () => markState("reviewed"), e: () => markState("resolved"), t: () => markState("todo"),
  a: () => change({ assignee: boot.username }).catch(errorToast), l: label, n: note,
  "/": () => location.assign("/review/"),
});
