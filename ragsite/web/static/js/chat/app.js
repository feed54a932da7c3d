// The chat page: joins the session list, the thread, the composer and the connection.
import { api, fetchAll } from "../api.js";
import { bootData, h, icon, replace, store } from "../dom.js";
import { announcer, errorToast, menuButton } from "../ui.js";
import { isTyping } from "../shell.js";
import { Composer } from "./composer.js";
import { SessionList } from "./sessions.js";
import { SourcePanel } from "./source_panel.js";
import { watchStatus } from "./status.js";
import { Thread } from "./thread.js";
import { Transport } from "./transport.js";

const boot = bootData();
const title = document.getElementById("chat-title");
const announce = announcer();
const status = watchStatus(document.getElementById("banner"));
const panel = new SourcePanel(document.getElementById("source-panel"));
let sessionId = null;
let pending = null; // the answer whose question has been sent and not yet confirmed
let spoken = "";

const thread = new Thread(document.getElementById("thread-scroll"), {
  source: (answer, sources, index, opener) => panel.open(answer, sources, index, opener),
  option: (text) => ask(text),
  regenerate,
  retry,
});
const transport = new Transport({
  onEvent: receive,
  onState: (state) => (state === "signed-out" ? status.signedOut() : status.connection(state !== "lost")),
  onLostAsk: recoverAsk,
});
const composer = new Composer(document.getElementById("composer"), {
  workflows: boot.workflows, limit: boot.limits.message_chars, web: boot.web_search, username: boot.username, onSend: ask,
  onStop: () => {
    const live = thread.live();
    if (live?.id) transport.stop(live.id).catch(errorToast);
  },
});
const sessions = new SessionList(document.getElementById("session-list"), document.getElementById("session-search"), {
  onOpen: (session) => openSession(session.id, session.title),
  onGone: () => openSession(null),
  onRenamed: (session) => session.id === sessionId && showTitle(session.title),
});

// --------------------------------------------------------------------------------------------- sessions
async function openSession(id, name = "", { push = true } = {}) {
  sessionId = id;
  pending = null;
  panel.close();
  transport.open(id);
  composer.setBusy(false);
  composer.useDraft(id || "new");
  sessions.setCurrent(id);
  showTitle(name);
  if (push) history.pushState({ id, name }, "", id ? `/chat/${id}/` : "/");
  document.dispatchEvent(new CustomEvent("ragsite:navigated"));
  if (id) await loadMessages(id);
  else showWelcome();
  if (!matchMedia("(pointer: coarse)").matches) composer.input.focus({ preventScroll: true });
}

function showTitle(name) {
  title.textContent = name || (sessionId ? "Conversation" : "New conversation");
  document.title = name ? `${name} · Ragsite` : "Ragsite";
}

async function loadMessages(id) {
  thread.showLoading();
  let messages;
  try {
    messages = await fetchAll(`/api/sessions/${id}/messages?page_size=200`, 1000);
  } catch (error) {
    if (id === sessionId) thread.showProblem(error.message, () => loadMessages(id));
    return;
  }
  if (id !== sessionId) return;
  thread.show(messages);
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.status === "streaming") {
    composer.setBusy(true);
    transport.follow(last.message_id);
  }
  const target = location.hash.startsWith("#message-") && document.getElementById(location.hash.slice(1));
  if (target) target.scrollIntoView();
}

function showWelcome() {
  const { suggestions } = boot;
  thread.showWelcome(h("div", { class: "welcome" },
    h("h2", {}, "What would you like to know?"),
    h("p", {}, "Answers come from your documents, with the passages they rest on."),
    suggestions.length
      ? h("ul", { class: "suggestions", "aria-label": "Questions to start with" }, suggestions.map(({ text, language }) =>
        h("li", {}, h("button", { type: "button", class: "suggestion", lang: language, onclick: () => ask(text) },
          h("span", {}, text), icon("right")))))
      : h("a", { class: "button", href: "/documents/" }, icon("upload"), "Add documents")));
}

// --------------------------------------------------------------------------------------------- asking
function ask(text) {
  if (thread.live()) return false;
  thread.addQuestion(text);
  pending = thread.addAnswer();
  pending.question = text;
  composer.setBusy(true);
  thread.toEnd();
  transport.ask({ message: text, session_id: sessionId, ...composer.settings() });
  return true;
}

function retry(answer) {
  if (answer.id && answer.message) {
    regenerate(answer);
    return;
  }
  const text = answer.question;
  thread.removeFrom(answer);
  if (text) ask(text);
  else if (sessionId) loadMessages(sessionId);
}

function regenerate(answer) {
  if (thread.live()) return;
  pending = thread.replaceAnswer(answer);
  pending.question = answer.question;
  composer.setBusy(true);
  panel.close();
  transport.regenerate(answer.id);
}

/** The connection broke before the server confirmed the question: see whether it has taken it. */
async function recoverAsk({ message }) {
  const answer = pending;
  const failed = () => receive({ type: "error", content: "The connection broke before the question arrived.", code: "connection" });
  if (!sessionId) {
    failed();
    return;
  }
  try {
    const messages = await fetchAll(`/api/sessions/${sessionId}/messages?page_size=200`, 1000);
    const asked = messages.filter(({ role }) => role === "user").at(-1);
    if (pending !== answer) return;
    if (asked?.text === message && !thread.knows(asked.message_id)) await loadMessages(sessionId);
    else failed();
  } catch {
    if (pending === answer) failed();
  }
}

// --------------------------------------------------------------------------------------------- events
function receive(event) {
  if (event.type === "started") begin(event);
  const answer = event.message_id ? thread.find(event.message_id) : pending;
  if (event.type === "error" && (!answer || answer === pending)) {
    const failing = answer || pending;
    pending = null;
    composer.setBusy(false);
    if (!failing) {
      errorToast({ message: event.content });
      return;
    }
    failing.apply(event);
    thread.grew(true);
    announce(event.content);
    return;
  }
  if (!answer) return;
  answer.apply(event);
  thread.grew(event.done);
  speak(event);
  if (event.done) {
    composer.setBusy(false);
    sessions.load();
  }
}

function begin(event) {
  const inThisPage = !sessionId && pending;
  if (inThisPage) {
    sessionId = event.session_id;
    transport.sessionId = sessionId;
    composer.draftKey = `draft.${sessionId}`;
    store.set("draft.new", null);
    history.replaceState({ id: sessionId, name: "" }, "", `/chat/${sessionId}/`);
    sessions.current = sessionId;
    showTitle(pending.question);
    sessions.load();
  }
  if (event.session_id !== sessionId) return;
  const known = thread.find(event.message_id);
  if (known) {
    known.restart();
    return;
  }
  if (pending) {
    pending.id = event.message_id;
    thread.lastQuestionId(event.user_message_id);
    pending = null;
    return;
  }
  // Asked in another tab.
  showOthersQuestion(event);
}

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
  api.get(`/api/messages/${event.user_message_id}`).then((message) => thread.setQuestion(bubble, message.text)).catch(errorToast);
}

/** Screen readers hear steps, and then whole sentences, not single tokens. */
function speak(event) {
  if (event.type === "reasoning" || event.type === "tool_call") announce(event.content);
  if (event.type === "chunk") {
    spoken += event.content;
    const end = Math.max(...[". ", "。", "! ", "？", "\n"].map((mark) => spoken.lastIndexOf(mark)));
    if (end > 60) {
      announce(spoken.slice(0, end + 1));
      spoken = spoken.slice(end + 1);
    }
  }
  if (event.done) {
    announce(`${spoken} Answer complete.`);
    spoken = "";
  }
}

// --------------------------------------------------------------------------------------------- keys and start
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open], body > .menu")) {
    if (panel.isOpen) panel.close();
    else if (thread.live()) composer.onStop();
  }
  if (event.key === "/" && !isTyping(event.target)) {
    event.preventDefault();
    composer.input.focus();
  }
  if (event.altKey && event.code === "KeyN") {
    event.preventDefault();
    openSession(null);
  }
  if (event.altKey && event.code === "KeyK") {
    event.preventDefault();
    document.getElementById("session-search").focus();
  }
});
addEventListener("popstate", (event) => {
  const id = /^\/chat\/([0-9a-f-]{36})\/$/.exec(location.pathname)?.[1] || null;
  if (id !== sessionId) openSession(id, event.state?.name || sessions.find(id)?.title || "", { push: false });
});
for (const link of document.querySelectorAll("[data-new-chat]")) {
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    openSession(null);
  });
}
const sessionMenu = document.getElementById("session-menu");
menuButton(sessionMenu, () => {
  const session = sessions.find(sessionId) || (sessionId && { id: sessionId, title: title.textContent });
  if (!session) return [{ label: "New conversation", icon: "plus", run: () => openSession(null) }];
  return [
    { label: "Rename", icon: "edit", run: () => sessions.rename(session) },
    { label: "Export as Markdown", icon: "download", href: `/api/sessions/${session.id}/export?format=markdown`, download: true },
    { label: "Export as JSON", icon: "code", href: `/api/sessions/${session.id}/export?format=json`, download: true },
    { label: "Delete", icon: "trash", danger: true, run: () => sessions.remove(session) },
  ];
});
replace(sessionMenu, icon("more"));

history.replaceState({ id: boot.session?.id || null, name: boot.session?.title || "" }, "");
sessions.load();
openSession(boot.session?.id || null, boot.session?.title || "", { push: false });
