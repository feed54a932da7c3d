// The chat page: joins the session list, the thread, the composer and the connection.
import { api } from "../api.js";
import { bootData, byId, icon, replace, sharedText } from "../dom.js";
import { gettext } from "../i18n.js";
import { lookForModel, taskProblem } from "../document_tasks.js";
import { announcer, errorToast, menuButton, toast } from "../ui.js";
import { rewritingOf } from "./again.js";
import { Composer } from "./composer.js";
import { History } from "./history.js";
import { liveLine } from "./live.js";
import { OpenPanel } from "./open_panel.js";
import { SessionList } from "./sessions.js";
import { listenForShortcuts } from "./shortcuts.js";
import { watchStatus } from "./status.js";
import { Temporary } from "./temporary.js";
import { Thread } from "./thread.js";
import { Transport } from "./transport.js";

/** @typedef {import("./answer.js").Answer} Answer */

const FIRST_LOOK_MS = 1000; // for a question whose connection broke
const LONGEST_LOOK_MS = 8000;
const CLOCKS_DIFFER_MS = 60_000; // the site's and this browser's
const SEARCHED_CHARS = 60;
const FOLLOW_UPS_MS = 10_000; // after an answer, in which they are mostly found
const USED_UP = "budget_used_up";
const UNREADABLE = "assistant_collections_unreadable";

/** @type {Boot.Chat} */
const boot = bootData();
const title = byId("chat-title");
const announce = announcer();
const welcome = byId("welcome", HTMLTemplateElement);
const allowance = byId("allowance");
const status = watchStatus(byId("banner"), byId("reading"), { isEmpty: !welcome.content.querySelector(".suggestions"), onRead: renewWelcome });
const panel = new OpenPanel(byId("source-panel"));
/** @type {Api.Id | null} */
let sessionId = null;
/** @type {Answer | null} the answer whose question has been sent and not yet confirmed */
let pending = null;
let askedAt = 0;
let loading = false; // the conversation's messages
let asksOnceLoaded = false;
let announced = "";
/** @type {Answer | null} one that was told to go on, until that is confirmed */
let continued = null;

/** @type {Thread} */
const thread = new Thread(byId("thread-scroll"), {
  source: (answer, sources, index, opener) => panel.open(answer, sources, index, opener),
  option: (text) => ask(text),
  followUp: (text) => ask(text, "follow_up"),
  regenerate,
  goOn,
  showVersion,
  edit,
  retry,
  questionOf: (answer) => thread.questionOf(answer),
  isRated: () => !temporary.isOn,
});
const transport = new Transport({
  onEvent: receive,
  onState: (state) => (state === "signed-out" ? status.signedOut() : status.connection(state !== "lost")),
  onLostAsk: recoverAsk,
});
const composer = new Composer(byId("composer"), {
  workflows: boot.workflows, standard: boot.default_workflow, limits: boot.limits, accept: boot.accept, page: boot.self_corrective, web: boot.web_search, assistant: boot.assistant, username: boot.username,
  onAssistant: redrawWelcome,
  onSend: (text) => ask(text), onStop: stop,
});
composer.input.addEventListener("input", () => { asksOnceLoaded = false; }); // other words wait for another Enter
/** @type {SessionList} */
const sessions = new SessionList(byId("session-list"), byId("session-search", HTMLInputElement), {
  onOpen: (session) => openSession(session.id, session.title),
  onGone: () => openSession(null),
  onRenamed: (session) => {
    if (session.id === sessionId) showTitle(session.title);
  },
  onShare: async (session) => {
    const { shareDialog } = await import("./sharing.js");
    await shareDialog(session.id);
  },
  onKeep: boot.temporary === "enforced" ? null : (session) => temporary.keep(session),
});
const temporary = new Temporary(byId("temporary"), document.querySelector("[data-temporary]"), {
  rule: boot.temporary,
  onToggle: (isOn) => openSession(null, "", { isTemporary: isOn }),
  onKept: (session) => {
    sessions.know(session);
    sessions.load();
    if (session.id !== sessionId) return;
    showTitle(session.title);
    if (!thread.live()) loadMessages(session.id); // with what only a conversation that is kept has
  },
});

// --------------------------------------------------------------------------------------------- sessions
/** @param {Api.Id | null} id */
async function openSession(id, name = "", { push = true, isTemporary = false } = {}) {
  sessionId = id;
  pending = null;
  loading = false;
  asksOnceLoaded = false;
  panel.close();
  transport.open(id);
  composer.setBusy(false);
  composer.useDraft(id || "new", sessions.find(id)?.collections, sessions.find(id)?.assistant);
  sessions.setCurrent(id);
  temporary.show(id ? sessions.find(id) ?? { id, title: name } : null, isTemporary);
  showTitle(name);
  if (id && !sessions.find(id)) void showTemporary(id);
  if (push) history.pushState({ id, name }, "", id ? `/chat/${id}/` : "/");
  document.dispatchEvent(new CustomEvent("ragsite:navigated"));
  if (id) await loadMessages(id);
  else showWelcome();
  if (!matchMedia("(pointer: coarse)").matches) composer.input.focus({ preventScroll: true });
}

/** @param {string} name */
function showTitle(name) {
  title.textContent = name || (sessionId ? gettext("Conversation") : temporary.isOn ? gettext("Temporary chat") : gettext("New conversation"));
  byId("session-menu").hidden = !sessionId;
  document.title = name ? `${name} · Ragsite` : "Ragsite";
}

/** @param {Api.Id} id */
async function loadMessages(id) {
  thread.showLoading();
  loading = true;
  const at = location.hash.startsWith("#message-") ? location.hash.slice("#message-".length) : undefined;
  const messages = new History(id);
  let newest;
  try {
    newest = await messages.newest(at);
  } catch (error) {
    if (id !== sessionId) return;
    loading = false;
    asksOnceLoaded = false;
    thread.showProblem(/** @type {Error} */ (error).message, () => loadMessages(id));
    return;
  }
  if (id !== sessionId) return;
  loading = false;
  thread.show(newest);
  const last = newest.at(-1);
  if (last?.role === "assistant" && last.status === "streaming") {
    composer.setBusy(true);
    transport.follow(last.message_id);
  }
  const there = at && document.getElementById(`message-${at}`);
  if (there) thread.stayAt(there);
  thread.offerEarlier(messages);
  if (asksOnceLoaded) composer.send();
}

function showWelcome() {
  thread.showWelcome((text) => ask(text, "starter"), composer.named.documents.length > 0);
  composer.assistant.greet(thread.list, composer.named.documents.length ? null : (text) => ask(text));
}

/** With questions that what has been read now answers. */
async function renewWelcome() {
  if (welcome.content.querySelector(".suggestions")) return;
  const page = await fetch("/").then((response) => response.text()).catch(() => "");
  const fresh = new DOMParser().parseFromString(page, "text/html").querySelector(/** @type {"template"} */ ("template#welcome"));
  if (!fresh) return;
  welcome.content.replaceChildren(fresh.content);
  redrawWelcome();
}

/** Unless a question stands there by now. */
function redrawWelcome() {
  const isShown = thread.scroll.classList.contains("is-welcome");
  if (isShown) showWelcome();
  return isShown;
}

// --------------------------------------------------------------------------------------------- asking
/**
 * False: not now. While the messages are loading it waits for them, which would be drawn over it.
 * @param {string} text @param {Api.Ask["offered"]} [offered] where the page offered it
 */
function ask(text, offered) {
  asksOnceLoaded = loading;
  if (asksOnceLoaded || thread.live()) return false;
  thread.addQuestion(text);
  const answer = thread.addAnswer();
  answer.isNew = true;
  awaitAnswer(answer, text);
  thread.holdQuestion();
  askedAt = Date.now();
  const question = { message: text, session_id: sessionId, ...composer.settings(), ...(offered ? { offered } : {}) };
  if (question.session_id || !temporary.isOn) transport.ask({ ...question, ...(temporary.isOn && !sessionId && boot.temporary === "allowed" ? { temporary: true } : {}) });
  else void askInNewTemporary(question);
  return true;
}

/** It begins first: should the connection break, it is in no list to be looked for. @param {Api.Ask} question */
async function askInNewTemporary(question) {
  const answer = pending;
  try {
    const session = await temporary.begin();
    sessions.know(session);
    if (pending === answer) transport.ask({ ...question, session_id: session.id });
  } catch (error) {
    const { message, code } = /** @type {import("../api.js").ApiError} */ (error);
    if (pending === answer) receive({ type: "error", content: message, code });
  }
}

function stop() {
  const live = thread.live();
  if (live?.id) transport.stop(live.id).catch(errorToast);
}

/** @param {Answer} answer @param {Api.Again} [changes] */
function retry(answer, changes = {}) {
  const rewriting = rewritingOf(answer, changes);
  if (rewriting) {
    rewrite(answer, rewriting);
    return;
  }
  const text = answer.question || thread.questionOf(answer);
  thread.removeFrom(answer);
  if (text) ask(text);
  else if (sessionId) loadMessages(sessionId);
}

/** @param {Answer} answer @param {string} question */
function awaitAnswer(answer, question) {
  pending = answer;
  answer.question = question;
  answer.send();
  composer.setBusy(true);
  panel.close();
}

/** @param {Answer} answer @param {Api.Again} [request] what is to be otherwise */
function regenerate(answer, request = {}) {
  if (answer.id) rewrite(answer, { id: answer.id, request });
}

/** @param {Answer} shown where it is to stand @param {import("./again.js").Rewriting} rewriting */
function rewrite(shown, rewriting) {
  if (thread.live()) return;
  const question = shown.question || thread.questionOf(shown);
  const answer = thread.replaceAnswer(shown);
  answer.rewrites = rewriting;
  awaitAnswer(answer, question);
  transport.again(rewriting.id, "regenerate", rewriting.request);
}

/** It may not look where its assistant does. @param {Answer} answer */
function askWithoutAssistant(answer) {
  if (!answer.rewrites) composer.assistant.choose(null);
  retry(answer, { assistant: "" });
}

/** @param {Answer} answer one that is not complete */
function goOn(answer) {
  if (thread.live() || !answer.id) return;
  continued = answer;
  answer.restart();
  composer.setBusy(true);
  panel.close();
  transport.again(answer.id, "continue");
}

/** @param {Api.Id} id of a question @param {string} text its other words @param {Api.Again} [request] */
function edit(id, text, request = {}) {
  if (thread.live()) return;
  thread.reword(id, text);
  const answer = thread.addAnswer();
  answer.edits = { id, text };
  awaitAnswer(answer, text);
  thread.holdQuestion();
  transport.again(id, "edit", { message: text, ...request });
}

/** The question is as it was. @param {Api.ErrorEvent} event @param {Answer} answer */
function refusedEdit(event, { edits }) {
  if (event.code === UNREADABLE && edits) {
    const run = () => edit(edits.id, edits.text, { assistant: "" });
    toast(event.content, { ms: 8000, action: { label: gettext("Ask without the assistant"), run } });
  } else errorToast({ message: event.content });
  if (sessionId) loadMessages(sessionId);
}

/** Another version of a question or an answer in its place. @param {Api.Id} id */
async function showVersion(id) {
  if (thread.live() || !sessionId) return;
  const asked = sessionId;
  panel.close();
  try {
    await api.post(`/api/messages/${id}/show`, {});
    const messages = new History(asked);
    const newest = await messages.newest(id);
    if (asked !== sessionId) return;
    thread.show(newest, id);
    thread.offerEarlier(messages);
  } catch (error) {
    errorToast(error);
  }
}

/**
 * The connection broke before the site said that it has the question: what is stored tells, once the site can be reached.
 * @param {Api.Ask} asked
 */
async function recoverAsk(asked, waitMs = FIRST_LOOK_MS) {
  const answer = pending;
  if (!answer) return;
  answer.showStep(gettext("Waiting for the connection, to see whether the question arrived"));
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  if (pending !== answer) return;
  let content = gettext("The connection broke before the question arrived.");
  try {
    const id = sessionId ?? asked.session_id ?? await begunWith(asked.message);
    const arrived = id && (await new History(id).newest()).find((row) => row.role === "user" && row.text === asked.message && !thread.knows(row.message_id));
    if (arrived && pending === answer) {
      pending = null;
      composer.setBusy(false);
      await (id === sessionId ? loadMessages(id) : openSession(id, title.textContent || ""));
      return;
    }
  } catch (error) {
    const { status = 0, message } = /** @type {import("../api.js").ApiError} */ (error);
    if (status === 0 || status >= 500) {
      void recoverAsk(asked, Math.min(waitMs * 2, LONGEST_LOOK_MS));
      return;
    }
    content = message;
  }
  if (pending === answer) receive({ type: "error", content, code: "connection" });
}

/** The conversation that has just begun with these words. @param {string} message @returns {Promise<Api.Id | undefined>} */
async function begunWith(message) {
  const words = new URLSearchParams({ search: [...message].slice(0, SEARCHED_CHARS).join("") });
  /** @type {Api.Page<Api.Session>} */
  const { results } = await api.get(`/api/sessions?${words}`);
  return results.find((session) => Date.parse(session.created_at) > askedAt - CLOCKS_DIFFER_MS)?.id;
}

// --------------------------------------------------------------------------------------------- events
/** @param {Api.Event} event */
function receive(event) {
  if (event.type === "started") begin(event);
  const answer = event.message_id ? thread.find(event.message_id) : pending;
  if (event.type === "error" && (!answer || answer === pending)) {
    const failing = answer || pending;
    pending = null;
    composer.setBusy(false);
    if (continued?.message && !event.message_id) continued.finish(continued.message);
    continued = null;
    if (event.code === USED_UP) {
      refusedByBudget(event, failing);
      return;
    }
    if (!failing) {
      errorToast({ message: event.content });
      return;
    }
    if (failing.edits) {
      refusedEdit(event, failing);
      return;
    }
    failing.apply(event);
    if (event.code === UNREADABLE) failing.offer(gettext("Ask without the assistant"), () => askWithoutAssistant(failing));
    thread.grew(true);
    announce(event.content);
    return;
  }
  if (!answer) return;
  answer.apply(event);
  if (event.type !== "chunk") thread.grew(event.done || event.type === "follow_ups"); // a chunk is drawn with the next frame, and seen to then
  if (event.type === "reasoning" || event.type === "tool_call") announceStep(liveLine(event));
  if (event.done) {
    announce(event.type === "error" ? event.content : answer.spoken());
    composer.setBusy(false);
    if (transport.http) setTimeout(() => lookForFollowUps(answer), FOLLOW_UPS_MS);
    if (boot.budgets) showLeft();
    sessions.load().then(() => { // an edited first question names the conversation
      const listed = sessions.find(sessionId)?.title;
      if (listed) showTitle(listed);
      composer.assistant.sync(sessions.find(sessionId)?.assistant);
    }, errorToast);
  }
}

/** Without a socket nobody tells of them. @param {Answer} answer */
async function lookForFollowUps(answer) {
  if (!answer.id || !answer.isDone || thread.find(answer.id) !== answer) return;
  /** @type {Api.Answer | null} */
  const stored = await api.get(`/api/messages/${answer.id}`).catch(() => null);
  if (stored?.follow_ups.length) receive({ type: "follow_ups", message_id: stored.message_id, follow_ups: stored.follow_ups });
}

/** Nothing was asked: the question goes back into the box. @param {Api.ErrorEvent} event @param {Answer | null} [answer] */
function refusedByBudget(event, answer) {
  if (answer?.isNew) {
    thread.removeFrom(answer);
    composer.giveBack(answer.question);
    if (!sessionId) showWelcome();
  } else if (answer && sessionId) {
    loadMessages(sessionId); // as it was
  }
  allowance.textContent = event.content;
  allowance.classList.add("is-over");
  allowance.hidden = false;
  showLeft();
}

/** What is left of the tokens that the reader may use. */
function showLeft() {
  import("./allowance.js").then(({ showAllowance }) => showAllowance(allowance, () => composer.input.value.trim())).catch(() => {}); // a refusal says it
}

/** Each step once. @param {string} line */
function announceStep(line) {
  if (line && line !== announced) announce(line);
  announced = line || announced;
}

/** @param {Extract<Api.Event, {type: "started"}>} event */
function begin(event) {
  if (!sessionId && pending) {
    sessionId = event.session_id;
    transport.sessionId = sessionId;
    composer.began(sessionId);
    history.replaceState({ id: sessionId, name: "" }, "", `/chat/${sessionId}/`);
    sessions.current = sessionId;
    if (temporary.isOn) void showTemporary(sessionId);
    else temporary.show({ id: sessionId, title: pending.question });
    showTitle(temporary.isOn ? gettext("Temporary chat") : pending.question);
    sessions.load();
  }
  if (event.session_id !== sessionId) return;
  const known = thread.find(event.message_id);
  if (known) {
    continued = null;
    composer.setBusy(true);
    known.restart();
    return;
  }
  if (pending) {
    composer.named.taken();
    composer.assistant.taken();
    pending.id = event.message_id;
    thread.lastQuestionId(event.user_message_id);
    pending = null;
    return;
  }
  showOthersQuestion(event);
}

/** When the one that has just begun ends. @param {Api.Id} id */
async function showTemporary(id) {
  const session = sessions.find(id) ?? await api.get(`/api/sessions/${id}`).catch(() => null);
  if (!session || id !== sessionId) return;
  sessions.know(session);
  temporary.show(session);
}

/** What was asked in another tab. @param {Extract<Api.Event, {type: "started"}>} event */
function showOthersQuestion(event) {
  composer.setBusy(true);
  if (thread.knows(event.user_message_id)) {
    const before = thread.answerTo(event.user_message_id);
    const answer = before ? thread.replaceAnswer(before) : thread.addAnswer();
    answer.id = event.message_id;
    return;
  }
  const bubble = thread.addQuestion("…", event.user_message_id);
  thread.addAnswer(event.user_message_id).id = event.message_id;
  api.get(`/api/messages/${event.user_message_id}`).then((/** @type {Api.Question} */ message) => {
    if (message.versions.length > 1 && sessionId) loadMessages(sessionId); // an earlier question, edited
    else replace(bubble, message.text);
  }).catch(errorToast);
}

/** What a page of this site asked for is done at once; a link from elsewhere waits for the reader's Enter. */
async function beginTask() {
  if (!redrawWelcome()) return;
  const { task } = composer.named;
  if (!task || !document.referrer.startsWith(`${location.origin}/`)) return;
  await lookForModel();
  const problem = taskProblem(task);
  if (problem) toast(problem, { ms: 8000 });
  else composer.send();
}

// --------------------------------------------------------------------------------------------- keys and start
listenForShortcuts({ panel, stop, write: () => composer.input.focus(), startAnew: () => openSession(null), temporary: temporary.switchOver });
document.addEventListener("keydown", (event) => {
  if (event.altKey && event.code === "KeyK") {
    event.preventDefault();
    sessions.search.focus();
  }
});
addEventListener("popstate", (event) => {
  const id = /^\/chat\/([0-9a-f-]{36})\/$/.exec(location.pathname)?.[1] || null;
  if (id !== sessionId) openSession(id, event.state?.name || sessions.find(id)?.title || "", { push: false });
});
for (const link of document.querySelectorAll(/** @type {"a"} */ ("[data-new-chat]"))) {
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    openSession(null);
  });
}
const sessionMenu = byId("session-menu");
menuButton(sessionMenu, () => (sessionId ? sessions.options(sessions.find(sessionId) || { id: sessionId, title: title.textContent || "" }) : []));
replace(sessionMenu, icon("more"));

history.replaceState({ id: boot.session?.id || null, name: boot.session?.title || "" }, "");
sessions.know(boot.session);
sessions.hasArchive = boot.has_archive;
sessions.load();
if (boot.budgets) showLeft();
const address = new URLSearchParams(location.search);
openSession(boot.session?.id || null, boot.session?.title || "", { push: false, isTemporary: boot.temporary === "allowed" && address.has("temporary") });
if (!boot.session && address.size) {
  composer.begin(address).then(beginTask).catch(errorToast);
  if (address.has("temporary")) history.replaceState(history.state, "", "/"); // a reload does not do it twice
}
const shared = boot.session ? "" : sharedText.take();
if (shared) composer.takeShared(shared);
