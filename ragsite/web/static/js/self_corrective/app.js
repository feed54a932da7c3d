// The page of the self-corrective workflow: settings, chat, nodes, decision path, grades.
import { bootData, h, icon, replace } from "../dom.js";
import { announcer, errorToast } from "../ui.js";
import { isTyping } from "../shell.js";
import { Composer } from "../chat/composer.js";
import { decisionPath } from "../chat/path.js";
import { SourcePanel } from "../chat/source_panel.js";
import { Thread } from "../chat/thread.js";
import { Transport } from "../chat/transport.js";
import { GraphPicture } from "./graph.js";
import { Grades } from "./grades.js";
import { Progress } from "./progress.js";
import { Settings } from "./settings.js";
import { Views } from "./views.js";

const ADDRESS = "/api/self-corrective-rag";
const PATH_EMPTY = "Every step of the answer is listed here as it is taken.";

/** A question's words alone: how to answer stands in the settings. */
class QuestionBox extends Composer {
  pickWorkflow() {}

  pickCollections() {}
}

/** Over HTTP only: this page's requests have fields of their own. */
class Events extends Transport {
  constructor(on) {
    super(on);
    this.http = true;
  }

  ask(payload) {
    return this.readAnswer(ADDRESS, { method: "POST", body: payload });
  }
}

const boot = bootData();
const announce = announcer();
const fold = document.getElementById("settings-fold");
const views = new Views(document.getElementById("views"), document.getElementById("workbench"), (name) => {
  if (name === "settings") fold.open = true;
});
const panel = new SourcePanel(document.getElementById("source-panel"));
const path = document.getElementById("path");
const grades = new Grades(document.getElementById("grades"));
const picture = new GraphPicture(document.getElementById("graph"), boot.graph, document.getElementById("node-now"));
const progress = new Progress(picture, boot.node_of_step);
const settings = new Settings(document.getElementById("settings"), boot, document.getElementById("preset-shown"), openSettings);
let sessionId = null;
let pending = null; // the answer whose question has been sent and not yet confirmed

const thread = new Thread(document.getElementById("thread-scroll"), {
  source: (answer, sources, index, opener) => panel.open(answer, sources, index, opener),
  option: (text) => ask(text),
  regenerate,
  retry,
});
const transport = new Events({ onEvent: receive, onState: () => {}, onLostAsk: () => {} });
const composer = new QuestionBox(document.getElementById("composer"), {
  workflows: ["self_corrective"], limit: boot.limits.message_chars, web: null, onSend: ask, onStop: stop,
});

function openSettings() {
  views.open("settings");
  const first = document.querySelector('#settings input[name="preset"]:checked');
  first.focus();
  first.scrollIntoView({ block: "nearest" });
}

// --------------------------------------------------------------------------------------------- conversations
function startAnew() {
  sessionId = null;
  pending = null;
  transport.open(null);
  panel.close();
  composer.setBusy(false);
  composer.useDraft("self-corrective");
  clearDetails("Waiting for a question.");
  views.open("chat");
  document.dispatchEvent(new CustomEvent("ragsite:navigated"));
  thread.showWelcome(h("div", { class: "welcome" },
    h("h2", {}, "Graded before it is answered"),
    h("p", {}, "Ask, and watch each document being judged."),
    boot.suggestions.length
      ? h("ul", { class: "suggestions", "aria-label": "Questions to start with" }, boot.suggestions.map(({ text, language }) =>
        h("li", {}, h("button", { type: "button", class: "suggestion", lang: language, onclick: () => ask(text) }, h("span", {}, text), icon("right")))))
      : h("a", { class: "button", href: "/documents/" }, icon("upload"), "Add documents")));
  if (!matchMedia("(pointer: coarse)").matches) composer.input.focus({ preventScroll: true });
}

function clearDetails(text) {
  grades.clear();
  picture.reset(text);
  replace(path, h("p", { class: "card-empty" }, PATH_EMPTY));
}

// --------------------------------------------------------------------------------------------- asking
function ask(text) {
  if (thread.live()) return false;
  thread.addQuestion(text);
  begin(thread.addAnswer(), text);
  transport.ask({ query: text, ...(sessionId ? { sessionId } : {}), ...settings.request() });
  return true;
}

function begin(answer, text) {
  pending = answer;
  pending.question = text;
  composer.setBusy(true);
  clearDetails("");
  progress.start();
  fold.open = false; // the nodes move up to where they can be watched
  thread.toEnd();
}

function regenerate(answer) {
  if (thread.live()) return;
  panel.close();
  const id = answer.id;
  begin(thread.replaceAnswer(answer), answer.question);
  transport.regenerate(id);
}

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
function receive(event) {
  if (event.type === "started") confirm(event);
  const answer = (event.message_id && thread.find(event.message_id)) || (event.type === "error" ? pending : null);
  if (!answer) {
    if (event.type === "error") errorToast({ message: event.content });
    return;
  }
  answer.apply(event);
  progress.apply(event);
  if (event.type === "reasoning" && event.step) showStep(answer, event.step);
  thread.grew(event.done);
  if (event.type === "reasoning" || event.type === "tool_call") announce(event.content);
  if (event.done) finish(answer, event);
}

function confirm(event) {
  sessionId = event.session_id;
  if (!pending || thread.find(event.message_id)) return;
  pending.id = event.message_id;
  thread.lastQuestionId(event.user_message_id);
  pending = null;
}

function showStep(answer, step) {
  grades.apply(step);
  replace(path, decisionPath(answer.steps));
}

function finish(answer, { message, content }) {
  pending = null;
  composer.setBusy(false);
  announce(message ? "Answer complete." : content);
  if (!message) return;
  if (!message.decision_path?.length) return;
  // The stored path has every step, also one whose event was missed.
  grades.clear();
  for (const step of message.decision_path) grades.apply(step);
  progress.replay(message);
  replace(path, decisionPath(message.decision_path, message.usage));
}

// --------------------------------------------------------------------------------------------- keys and start
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open], body > .menu")) {
    if (panel.isOpen) panel.close();
    else if (thread.live()) stop();
  }
  if (event.key === "/" && !isTyping(event.target)) {
    event.preventDefault();
    views.open("chat");
    composer.input.focus();
  }
  if (event.altKey && event.code === "KeyN") {
    event.preventDefault();
    startAnew();
  }
});
document.getElementById("new-conversation").addEventListener("click", startAnew);
startAnew();
