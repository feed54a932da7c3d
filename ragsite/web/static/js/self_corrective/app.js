// The page of the self-corrective workflow: settings, chat, nodes, decision path, grades.
import { bootData, byId, h, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { announcer, errorToast } from "../ui.js";
import { liveLine } from "../chat/live.js";
import { decisionPath } from "../chat/path.js";
import { QuestionBox } from "../chat/question_box.js";
import { listenForShortcuts } from "../chat/shortcuts.js";
import { OpenPanel } from "../chat/open_panel.js";
import { Thread } from "../chat/thread.js";
import { Transport } from "../chat/transport.js";
import { Grades } from "./grades.js";
import { Nodes } from "./nodes.js";
import { Progress } from "./progress.js";
import { Settings } from "./settings.js";

const ADDRESS = "/api/self-corrective-rag";
const PATH_EMPTY = gettext("The steps of the answer appear here one by one.");

/**
 * Over HTTP only: this page's requests have fields of their own.
 * @extends {Transport<Api.SelfCorrectiveAsk>}
 */
class Events extends Transport {
  http = true;

  /** @param {Api.SelfCorrectiveAsk} payload */
  async ask(payload) {
    await this.readAnswer(ADDRESS, { method: "POST", body: payload });
  }
}

/** @typedef {import("../chat/answer.js").Answer} Answer */

/** @type {Boot.SelfCorrective} */
const boot = bootData();
const announce = announcer();
const fold = byId("settings-fold", HTMLDetailsElement);
const panel = new OpenPanel(byId("source-panel"));
const path = byId("path");
const grades = new Grades(byId("grades"));
const nodes = new Nodes(byId("nodes"), boot.graph, byId("node-now"));
const progress = new Progress(nodes, boot.node_of_step);
const settings = new Settings(byId("settings"), boot);
/** @type {Api.Id | null} */
let sessionId = null;
/** @type {Answer | null} the answer whose question has been sent and not yet confirmed */
let pending = null;

const thread = new Thread(byId("thread-scroll"), {
  source: (answer, sources, index, opener) => panel.open(answer, sources, index, opener),
  option: (text) => ask(text),
  regenerate,
  retry,
});
const transport = new Events({ onEvent: receive, onState: () => {}, onLostAsk: () => {} });
const composer = new QuestionBox(byId("composer"), { limit: boot.limits.message_chars, onSend: ask, onStop: stop });

/** Where the page's parts do not stand side by side, this one is shown. */
function showChat() {
  if (location.hash) location.replace("#view-chat");
}

// --------------------------------------------------------------------------------------------- conversations
function startAnew() {
  sessionId = null;
  pending = null;
  transport.open(null);
  panel.close();
  composer.setBusy(false);
  composer.useDraft("self-corrective");
  clearDetails(gettext("Waiting for a question."));
  showChat();
  document.dispatchEvent(new CustomEvent("ragsite:navigated"));
  thread.showWelcome(ask);
  if (!matchMedia("(pointer: coarse)").matches) composer.input.focus({ preventScroll: true });
}

/** @param {string} text */
function clearDetails(text) {
  grades.clear();
  nodes.reset(text);
  replace(path, h("p", { class: "card-empty" }, PATH_EMPTY));
}

// --------------------------------------------------------------------------------------------- asking
/** @param {string} text */
function ask(text) {
  if (thread.live()) return false;
  thread.addQuestion(text);
  begin(thread.addAnswer(), text);
  transport.ask({ query: text, ...(sessionId ? { sessionId } : {}), ...settings.request() });
  return true;
}

/** @param {Answer} answer @param {string} text */
function begin(answer, text) {
  pending = answer;
  answer.question = text;
  composer.setBusy(true);
  clearDetails("");
  progress.start();
  fold.open = false; // the nodes move up to where they can be watched
  thread.toEnd();
}

/** @param {Answer} answer */
function regenerate(answer) {
  const { id } = answer;
  if (thread.live() || !id) return;
  panel.close();
  begin(thread.replaceAnswer(answer), answer.question);
  transport.again(id, "regenerate");
}

/** @param {Answer} answer */
function retry(answer) {
  if (answer.id && answer.message) {
    regenerate(answer);
    return;
  }
  thread.removeFrom(answer);
  if (answer.question) ask(answer.question);
}

function stop() {
  const live = thread.live();
  if (live?.id) transport.stop(live.id).catch(errorToast);
}

// --------------------------------------------------------------------------------------------- events
/** @param {Api.Event} event */
function receive(event) {
  if (event.type === "started") confirm(event);
  const answer = (event.message_id ? thread.find(event.message_id) : null) || (event.type === "error" ? pending : null);
  if (!answer) {
    if (event.type === "error") errorToast({ message: event.content });
    return;
  }
  answer.apply(event);
  progress.apply(event);
  if (event.type === "reasoning" && event.step) showStep(answer, event.step);
  thread.grew(event.done);
  if (event.type === "reasoning" || event.type === "tool_call") {
    const line = liveLine(event);
    if (line) announce(line);
  }
  if (event.type === "done") finish(event.message);
  if (event.type === "error") end(event.content);
}

/** @param {Extract<Api.Event, {type: "started"}>} event */
function confirm(event) {
  sessionId = event.session_id;
  if (!pending || thread.find(event.message_id)) return;
  pending.id = event.message_id;
  thread.lastQuestionId(event.user_message_id);
  pending = null;
}

/** @param {Answer} answer @param {Api.Step} step */
function showStep(answer, step) {
  grades.apply(step);
  replace(path, decisionPath(answer.steps));
}

/** @param {string} text */
function end(text) {
  pending = null;
  composer.setBusy(false);
  announce(text);
}

/** @param {Api.Answer} message */
function finish(message) {
  end(thread.find(message.message_id)?.spoken() ?? "");
  if (!message.decision_path.length) return;
  replace(path, decisionPath(message.decision_path, message.usage));
}

// --------------------------------------------------------------------------------------------- keys and start
listenForShortcuts({
  panel, stop, startAnew,
  write: () => {
    showChat();
    composer.input.focus();
  },
});
addEventListener("hashchange", () => {
  if (location.hash === "#view-settings") fold.open = true;
});
byId("new-conversation").addEventListener("click", startAnew);
startAnew();
