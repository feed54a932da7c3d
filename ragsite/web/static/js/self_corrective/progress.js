// From an answer's events to the node that runs: what a finished step says about the one that comes next.
import { gettext } from "../i18n.js";

/** @type {Record<string, string>} */
const BROKEN_OFF = { stopped: gettext("You stopped the answer."), interrupted: gettext("The answer was interrupted."), failed: gettext("The answer could not be written.") };
const OUTCOMES = { ANSWER: gettext("The answer is ready."), CLARIFY: gettext("The site asks what you mean."), NO_ANSWER: gettext("Nothing that was found answers the question.") };

export class Progress {
  /**
   * @param {Pick<import("./nodes.js").Nodes, "current" | "enter" | "trouble" | "end" | "reset">} nodes
   * @param {Record<string, string>} nodeOfStep step name → node, as the server has it
   */
  constructor(nodes, nodeOfStep) {
    this.nodes = nodes;
    this.nodeOfStep = nodeOfStep;
    this.searched = true;
    this.start();
  }

  start() {
    this.searched = true;
    this.nodes.reset(gettext("Reading the question."));
  }

  /** @param {Api.Event} event */
  apply(event) {
    switch (event.type) {
      case "started":
        this.nodes.enter("__start__");
        this.nodes.enter("condense");
        break;
      case "tool_call":
        this.enter(event.tool === "search" ? "retrieve" : event.tool);
        break;
      case "reasoning":
        if (event.step) this.finished(event.step);
        break;
      case "sources":
        if (this.searched) this.enter("generate");
        break;
      case "done":
        this.done(event.message);
        break;
      case "error":
        this.nodes.end(event.content || gettext("The answer could not be written."), { reached: false });
    }
  }

  /** @param {string | null} node */
  enter(node) {
    if (node) this.nodes.enter(node);
  }

  /** @param {Api.Step} step */
  finished(step) {
    if (step.detail?.decision) return; // the path's last entry: no node of the graph
    if (step.name === "retrieve" && step.status === "skipped") {
      this.searched = false;
      return;
    }
    const node = this.nodeOfStep[step.name];
    this.enter(node);
    if (node && (step.status === "degraded" || step.status === "failed")) this.nodes.trouble(node, step.status);
    this.enter(this.next(step));
  }

  /** What follows a step for certain. @param {Api.Step} step @returns {string | null} */
  next(step) {
    if (step.name === "route") return "retrieve";
    if (step.name === "dedupe" || step.name === "web_search") return "grade";
    if (step.name === "assess") return step.detail.verdict;
    if (step.name === "rewrite" && step.detail.rewritten) return "retrieve";
    return null;
  }

  /** @param {Api.Answer} message */
  done({ status, decision }) {
    if (decision === "NO_ANSWER" && this.nodes.current !== "generate") this.enter("no_answer");
    const brokenOff = BROKEN_OFF[status];
    this.nodes.end(brokenOff || (decision && OUTCOMES[decision]) || gettext("Done."), { reached: !brokenOff });
  }
}
