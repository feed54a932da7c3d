// Draws an answer while it is being written, and passages of documents. Only text nodes and a fixed set of elements are
// made, whatever the text says; a finished answer comes as sanitised HTML from the server and takes this one's place.
import { h } from "../dom.js";
import { dressProse } from "./prose.js";

const SLOW_FRAME_MS = 12;

/** @type {typeof import("./markdown.js") | null} */
let markdown = null;
/** @type {Promise<void> | null} */
let loading = null;

/** The parser, before the first words come. */
export function loadMarkdown() {
  loading ??= (async () => {
    markdown = await import("./markdown.js");
  })();
  return loading;
}

/** A passage of a document: with its structure once the parser is loaded. @param {string} text */
export function drawPassage(text) {
  return markdown ? markdown.passageOf(text) : [h("p", {}, text)];
}

export class StreamText {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** Whether a number in brackets is a citation. @type {(marker: number) => boolean} */
    this.hasSource = () => true;
    /** @type {number | null} */
    this.frame = null;
    this.text = "";
    /** The sources of the blocks that are drawn. @type {string[]} */
    this.drawn = [];
    /** Frames to leave out. */
    this.skip = 0;
    this.isStopped = false;
  }

  /** @param {string} piece */
  push(piece) {
    this.text += piece;
    this.later();
  }

  later() {
    if (!this.isStopped) this.frame ??= requestAnimationFrame(() => this.draw());
  }

  reset() {
    Object.assign(this, { text: "", drawn: [], skip: 0, isStopped: false });
    this.element.replaceChildren();
  }

  draw() {
    this.frame = null;
    if (!markdown) {
      loadMarkdown().then(() => this.later(), () => this.isStopped || this.element.replaceChildren(h("p", { class: "plain" }, this.text)));
      return;
    }
    if (this.skip > 0) {
      this.skip -= 1;
      this.later();
      return;
    }
    const began = performance.now();
    const blocks = markdown.blocksOf(this.text, this.hasSource);
    const changed = blocks.findIndex(({ source }, at) => source !== this.drawn[at]);
    const kept = changed < 0 ? blocks.length : changed;
    while (this.element.childElementCount > kept) this.element.lastElementChild?.remove();
    for (const { draw } of blocks.slice(kept)) this.element.append(draw());
    this.drawn = blocks.map(({ source }) => source);
    dressProse(this.element);
    // A text that takes long leaves the page its time.
    this.skip = Math.floor((performance.now() - began) / SLOW_FRAME_MS);
  }

  /** Something else stands in its place from now on, even if the parser comes only later. */
  stop() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.isStopped = true;
  }
}
