// The workflow's graph as a picture that lights up: which node runs, which have run and how often, which ways were taken.
import { replace } from "../dom.js";
import { layOut } from "./graph_layout.js";

const SVG = "http://www.w3.org/2000/svg";
const NODE = { width: 104, height: 34 };
const MARGIN = 10;
const NAMES = { __start__: "Start", __end__: "End", no_answer: "No answer", condense: "Condense" };

export const nodeName = (id) => NAMES[id] || (id.charAt(0).toUpperCase() + id.slice(1)).replaceAll("_", " ");

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export class GraphPicture {
  /** `graph`: {nodes, edges} as the compiled workflow has them; `now`: an element that says in words what runs. */
  constructor(element, graph, now) {
    this.now = now;
    this.graph = graph;
    this.shapes = new Map();
    this.counts = new Map();
    this.ways = new Map();
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
      return next.length ? `${nodeName(id)} leads to ${next.join(", or ")}` : "";
    });
    return `The workflow's nodes. ${ways.filter(Boolean).join(". ")}.`;
  }

  drawNode(id, { x, y }) {
    const end = id.startsWith("__");
    const width = end ? 62 : NODE.width;
    const height = end ? 26 : NODE.height;
    const count = svg("text", { class: "graph-count", x: x + width / 2 - 7, y: y + 4, "text-anchor": "end" });
    const group = svg("g", { class: `graph-node${end ? " is-end" : ""}`, "data-node": id },
      svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: end ? 13 : 9 }),
      svg("text", { class: "graph-label", x, y: y + 4.5, "text-anchor": "middle" }, nodeName(id)), count);
    this.shapes.set(id, group);
    this.counts.set(id, count);
    return group;
  }

  drawEdge({ source, target, conditional, back, points }) {
    const path = svg("path", { class: `graph-way${conditional ? " is-conditional" : ""}`, d: curve(points, back), "marker-end": "url(#head-way)" });
    this.ways.set(`${source}>${target}`, path);
    return path;
  }

  // ------------------------------------------------------------------------------------------- states
  reset(text = "Waiting for a question.") {
    this.current = null;
    this.visits = new Map();
    for (const shape of this.shapes.values()) this.mark(shape, "idle");
    for (const count of this.counts.values()) count.textContent = "";
    for (const way of this.ways.values()) {
      way.classList.remove("is-taken");
      way.setAttribute("marker-end", "url(#head-way)");
    }
    this.say(text);
  }

  /** This node runs now; the one before it is done. */
  enter(id) {
    if (id === this.current || !this.shapes.has(id)) return;
    const way = this.ways.get(`${this.current}>${id}`);
    if (way) {
      way.classList.add("is-taken");
      way.setAttribute("marker-end", "url(#head-taken)");
      way.parentNode.insertBefore(way, this.shapes.values().next().value); // above the ways not taken
    }
    if (this.current) this.mark(this.shapes.get(this.current), "done");
    this.current = id;
    const times = (this.visits.get(id) || 0) + 1;
    this.visits.set(id, times);
    this.counts.get(id).textContent = times > 1 ? `×${times}` : "";
    this.mark(this.shapes.get(id), "running");
    this.say(`${nodeName(id)} runs${times > 1 ? ` for the ${ordinal(times)} time` : ""}.`);
  }

  /** A fallback served in this node, or it failed. */
  trouble(id, status) {
    this.shapes.get(id)?.setAttribute("data-trouble", status);
  }

  end(text, { reached = true } = {}) {
    if (reached) this.enter("__end__");
    if (this.current) this.mark(this.shapes.get(this.current), reached ? "done" : "stopped");
    this.current = null;
    this.say(text);
  }

  mark(shape, state) {
    shape.setAttribute("data-state", state);
    if (state === "idle") shape.removeAttribute("data-trouble");
  }

  say(text) {
    this.now.textContent = text;
  }
}

function ordinal(number) {
  return ["", "first", "second", "third", "fourth", "fifth"][number] || `${number}th`;
}

/** Through a point in every layer between; what leads back does so beside what leads on. */
function curve(points, back) {
  const half = NODE.height / 2;
  const [first, last] = [points[0], points.at(-1)];
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
