// The workflow's graph as a picture that lights up: which node runs, which have run and how often, which ways were taken.
import { capitalized, replace } from "../dom.js";
import { gettext } from "../i18n.js";
import { layOut } from "./graph_layout.js";

const SVG = "http://www.w3.org/2000/svg";
const NODE = { width: 104, height: 34 };
const MARGIN = 10;
/** @type {Record<string, string>} */
const NAMES = {
  __start__: gettext("Start"), __end__: gettext("End"), condense: gettext("Condense"), retrieve: gettext("Retrieve"), web_search: gettext("Web search"), grade: gettext("Grade"),
  rewrite: gettext("Rewrite"), generate: gettext("Generate"), clarify: gettext("Clarify"), no_answer: gettext("No answer"),
};

/** @param {string} id */
export const nodeName = (id) => NAMES[id] || capitalized(id).replaceAll("_", " ");

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @typedef {{shape: SVGElement, count: SVGElement, visits: number}} DrawnNode */

export class GraphPicture {
  /**
   * @param {HTMLElement} element
   * @param {Boot.Graph} graph as the compiled workflow has it
   * @param {HTMLElement} now says in words what runs
   */
  constructor(element, graph, now) {
    this.now = now;
    this.graph = graph;
    /** @type {Map<string, DrawnNode>} */
    this.nodes = new Map();
    /** @type {Map<string, SVGElement>} "source>target" → its path */
    this.ways = new Map();
    /** @type {string | null} the node that runs */
    this.current = null;
    const placed = layOut(graph, { nodeWidth: NODE.width });
    const box = [-MARGIN, -NODE.height / 2 - MARGIN, placed.width + 2 * MARGIN, placed.height + NODE.height + 2 * MARGIN];
    const picture = svg("svg", { class: "graph", viewBox: box.join(" "), role: "img", "aria-label": this.described() });
    const defs = svg("defs", {});
    for (const name of ["way", "taken"]) {
      defs.append(svg("marker", { id: `head-${name}`, class: `graph-head is-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" })));
    }
    picture.append(defs, ...placed.edges.map((edge) => this.drawEdge(edge)), ...graph.nodes.map((id) => this.drawNode(id, placed.nodes[id])));
    replace(element, picture);
    this.reset();
  }

  described() {
    const ways = this.graph.nodes.map((id) => {
      const next = this.graph.edges.filter((edge) => edge.source === id).map((edge) => nodeName(edge.target));
      return next.length ? gettext("{node} leads to {next}", { node: nodeName(id), next: next.join(gettext(", or ")) }) : "";
    });
    return gettext("The workflow's nodes. {ways}.", { ways: ways.filter(Boolean).join(gettext(". ")) });
  }

  /** @param {string} id @param {import("./graph_layout.js").Point} point its middle */
  drawNode(id, { x, y }) {
    const end = id.startsWith("__");
    const width = end ? 62 : NODE.width;
    const height = end ? 26 : NODE.height;
    const count = svg("text", { class: "graph-count", x: x + width / 2 - 7, y: y + 4, "text-anchor": "end" });
    const group = svg("g", { class: `graph-node${end ? " is-end" : ""}`, "data-node": id },
      svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: end ? 13 : 9 }),
      svg("text", { class: "graph-label", x, y: y + 4.5, "text-anchor": "middle" }, nodeName(id)), count);
    this.nodes.set(id, { shape: group, count, visits: 0 });
    return group;
  }

  /** @param {import("./graph_layout.js").PlacedEdge} edge */
  drawEdge({ source, target, conditional, back, points }) {
    const path = svg("path", { class: `graph-way${conditional ? " is-conditional" : ""}`, d: curve(points, back), "marker-end": "url(#head-way)" });
    this.ways.set(`${source}>${target}`, path);
    return path;
  }

  // ------------------------------------------------------------------------------------------- states
  reset(text = gettext("Waiting for a question.")) {
    this.current = null;
    for (const node of this.nodes.values()) {
      node.visits = 0;
      node.count.textContent = "";
      node.shape.setAttribute("data-state", "idle");
      node.shape.removeAttribute("data-trouble");
    }
    for (const way of this.ways.values()) {
      way.classList.remove("is-taken");
      way.setAttribute("marker-end", "url(#head-way)");
    }
    this.say(text);
  }

  /** This node runs now; the one before it is done. @param {string} id */
  enter(id) {
    const node = this.nodes.get(id);
    if (id === this.current || !node) return;
    const way = this.ways.get(`${this.current}>${id}`);
    if (way) {
      way.classList.add("is-taken");
      way.setAttribute("marker-end", "url(#head-taken)");
      [...this.nodes.values()][0].shape.before(way); // above the ways not taken
    }
    this.markCurrent("done");
    this.current = id;
    node.visits += 1;
    node.count.textContent = node.visits > 1 ? `×${node.visits}` : "";
    this.markCurrent("running");
    this.say(node.visits > 1
      ? gettext("{node} runs for the {nth} time.", { node: nodeName(id), nth: ordinal(node.visits) }) : gettext("{node} runs.", { node: nodeName(id) }));
  }

  /** A fallback served in this node, or it failed. @param {string} id @param {"degraded" | "failed"} status */
  trouble(id, status) {
    this.nodes.get(id)?.shape.setAttribute("data-trouble", status);
  }

  /** @param {string} text @param {{reached?: boolean}} options false: it broke off where it was */
  end(text, { reached = true } = {}) {
    if (reached) this.enter("__end__");
    this.markCurrent(reached ? "done" : "stopped");
    this.current = null;
    this.say(text);
  }

  /** @param {"running" | "done" | "stopped"} state */
  markCurrent(state) {
    if (this.current) this.nodes.get(this.current)?.shape.setAttribute("data-state", state);
  }

  /** @param {string} text */
  say(text) {
    this.now.textContent = text;
  }
}

/** @param {number} number */
function ordinal(number) {
  return ["", gettext("first"), gettext("second"), gettext("third"), gettext("fourth"), gettext("fifth")][number] || gettext("{number}th", { number });
}

/**
 * Through a point in every layer between; what leads back does so beside what leads on.
 * @param {import("./graph_layout.js").Point[]} points
 * @param {boolean} back
 */
function curve(points, back) {
  const half = NODE.height / 2;
  const [first, last] = [points[0], points[points.length - 1]];
  const shift = back ? NODE.width / 4 : 0;
  const [out, into] = back ? [-half, half + 2] : [half, -half - 2];
  const stops = [{ x: first.x + shift, y: first.y + out }, ...points.slice(1, -1), { x: last.x + shift, y: last.y + into }];
  let drawn = `M${stops[0].x} ${stops[0].y}`;
  for (let index = 1; index < stops.length; index += 1) {
    const [from, to] = [stops[index - 1], stops[index]];
    const bend = (to.y - from.y) / 2;
    drawn += `C${from.x} ${from.y + bend} ${to.x} ${to.y - bend} ${to.x} ${to.y}`;
  }
  return drawn;
}
