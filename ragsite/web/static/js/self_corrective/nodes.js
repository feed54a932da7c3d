// The workflow's nodes as a list that lights up: which one runs, which have run and how often, what may follow each.
import { capitalized, h, replace } from "../dom.js";
import { gettext } from "../i18n.js";

/** @type {Record<string, string>} */
const NAMES = {
  __start__: gettext("Start"), __end__: gettext("End"), condense: gettext("Understand"), retrieve: gettext("Search"), web_search: gettext("Search the web"), grade: gettext("Grade"),
  rewrite: gettext("Rephrase"), generate: gettext("Write"), clarify: gettext("Ask back"), no_answer: gettext("No answer"),
};

/** @param {string} id */
export const nodeName = (id) => NAMES[id] || capitalized(id).replaceAll("_", " ");

/** @typedef {{item: HTMLElement, count: HTMLElement, visits: number}} Node */

export class Nodes {
  /**
   * @param {HTMLElement} element
   * @param {Boot.Graph} graph as the compiled workflow has it
   * @param {HTMLElement} now says in words what runs
   */
  constructor(element, { nodes, edges }, now) {
    this.now = now;
    /** @type {string | null} the node that runs */
    this.current = null;
    /** @type {Map<string, Node>} */
    this.nodes = new Map(nodes.map((id) => {
      const next = edges.filter(({ source }) => source === id).map(({ target }) => nodeName(target));
      const count = h("span", { class: "node-count" });
      const item = h("li", { class: "node", "data-node": id }, h("span", { class: "node-name" }, nodeName(id)), count,
        next.length ? h("span", { class: "node-next" }, `→ ${next.join(", ")}`) : null);
      return [id, { item, count, visits: 0 }];
    }));
    replace(element, h("ol", { class: "nodes" }, [...this.nodes.values()].map(({ item }) => item)));
    this.reset();
  }

  reset(text = gettext("Waiting for a question.")) {
    this.current = null;
    for (const node of this.nodes.values()) {
      node.visits = 0;
      node.count.textContent = "";
      node.item.setAttribute("data-state", "idle");
      node.item.removeAttribute("data-trouble");
    }
    this.now.textContent = text;
  }

  /** This node runs now; the one before it is done. @param {string} id */
  enter(id) {
    const node = this.nodes.get(id);
    if (id === this.current || !node) return;
    this.markCurrent("done");
    this.current = id;
    node.visits += 1;
    node.count.textContent = node.visits > 1 ? `×${node.visits}` : "";
    this.markCurrent("running");
    this.now.textContent = gettext("Now: {node}", { node: nodeName(id) });
  }

  /** A fallback served in this node, or it failed. @param {string} id @param {"degraded" | "failed"} status */
  trouble(id, status) {
    this.nodes.get(id)?.item.setAttribute("data-trouble", status);
  }

  /** @param {string} text @param {{reached?: boolean}} options false: it broke off where it was */
  end(text, { reached = true } = {}) {
    if (reached) this.enter("__end__");
    this.markCurrent(reached ? "done" : "stopped");
    this.current = null;
    this.now.textContent = text;
  }

  /** @param {"running" | "done" | "stopped"} state */
  markCurrent(state) {
    if (this.current) this.nodes.get(this.current)?.item.setAttribute("data-state", state);
  }
}
