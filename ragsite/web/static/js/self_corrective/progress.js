// From an answer's events to the node that runs: what a finished step says about the one that comes next.

export class Progress {
  /** `picture`: a GraphPicture; `nodeOfStep`: step name → node, as the server has it. */
  constructor(picture, nodeOfStep) {
    this.picture = picture;
    this.nodeOfStep = nodeOfStep;
    this.start();
  }

  start() {
    this.searched = true;
    this.picture.reset("The question is read.");
  }

  apply(event) {
    const handlers = {
      started: () => { this.picture.enter("__start__"); this.picture.enter("condense"); },
      tool_call: () => this.enter(event.tool === "search" ? "retrieve" : event.tool),
      reasoning: () => event.step && this.finished(event.step),
      sources: () => this.enter(this.writer()),
      chunk: () => this.chunk(),
      done: () => this.done(event.message),
      error: () => this.picture.end(event.content || "The answer could not be written.", { reached: false }),
    };
    handlers[event.type]?.();
  }

  /** All of a finished answer's steps at once. */
  replay(message) {
    this.start();
    this.apply({ type: "started" });
    for (const step of message.decision_path || []) this.finished(step);
    this.done(message);
  }

  enter(node) {
    if (node) this.picture.enter(node);
  }

  writer() {
    return this.searched ? "generate" : "greet";
  }

  chunk() {
    // The site's own sentence comes as a chunk too, without a writer before it.
    if (this.picture.current === "condense" && !this.searched) this.enter("greet");
  }

  finished(step) {
    if (step.name === "retrieve" && step.status === "skipped") {
      this.searched = false;
      return;
    }
    const node = this.nodeOfStep[step.name] === "generate" ? this.writer() : this.nodeOfStep[step.name];
    this.enter(node);
    if (node && (step.status === "degraded" || step.status === "failed")) this.picture.trouble(node, step.status);
    this.enter(this.next(step));
  }

  /** What follows a step for certain. */
  next(step) {
    if (step.name === "route") return "retrieve";
    if (step.name === "dedupe") return "grade";
    if (step.name === "assess") return step.detail.verdict;
    if (step.name === "rewrite" && step.detail.rewritten) return "retrieve";
    return null;
  }

  done(message) {
    if (message.decision === "NO_ANSWER" && !["generate", "no_answer"].includes(this.picture.current)) this.enter("no_answer");
    const endings = { stopped: "You stopped the answer.", interrupted: "The answer broke off.", failed: "The answer could not be written." };
    const said = { ANSWER: "The answer is there.", CLARIFY: "The question is asked back.", NO_ANSWER: "Nothing that was found answers the question." };
    this.picture.end(endings[message.status] || said[message.decision] || "Done.", { reached: !endings[message.status] });
  }
}
