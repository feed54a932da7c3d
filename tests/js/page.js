// A stand-in for the browser's page, as small as the tests need it: elements with attributes, children, classes and the
// selectors that the site uses. What a browser alone can tell (layout, focus, rendering) is tested in tests/browser.

class Node extends EventTarget {
  parentElement = null;

  remove() {
    const { parentElement: parent } = this;
    if (parent) parent.childNodes = parent.childNodes.filter((child) => child !== this);
    this.parentElement = null;
  }

  replaceWith(node) {
    this.before(node);
    this.remove();
  }

  before(node) {
    const { parentElement: parent } = this;
    node.remove();
    parent.childNodes.splice(parent.childNodes.indexOf(this), 0, node);
    node.parentElement = parent;
  }
}

class Text extends Node {
  constructor(data) {
    super();
    this.textContent = data;
  }
}

class HTMLElement extends Node {
  childNodes = [];
  attributes = new Map();
  dataset = {};
  style = { setProperty: (name, value) => { this.style[name] = value; } };
  hidden = false;

  constructor(tag) {
    super();
    this.localName = tag;
  }

  // ------------------------------------------------------------------------------------------- attributes
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = String(value);
    if (["hidden", "disabled", "checked", "open", "selected"].includes(name)) this[name] = true;
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  get id() {
    return this.getAttribute("id") ?? "";
  }

  set id(value) {
    this.setAttribute("id", value);
  }

  get value() {
    return this.getAttribute("value") ?? "";
  }

  set value(value) {
    this.setAttribute("value", value);
  }

  get classList() {
    const names = () => (this.getAttribute("class") ?? "").split(" ").filter(Boolean);
    const set = (kept) => this.setAttribute("class", kept.join(" "));
    return {
      contains: (name) => names().includes(name),
      add: (name) => set([...new Set([...names(), name])]),
      remove: (name) => set(names().filter((other) => other !== name)),
      toggle: (name, on = !names().includes(name)) => set([...names().filter((other) => other !== name), ...(on ? [name] : [])]),
    };
  }

  // ------------------------------------------------------------------------------------------- children
  get children() {
    return this.childNodes.filter((child) => child instanceof HTMLElement);
  }

  get childElementCount() {
    return this.children.length;
  }

  get firstElementChild() {
    return this.children[0] ?? null;
  }

  get lastElementChild() {
    return this.children.at(-1) ?? null;
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(String(text));
  }

  append(...nodes) {
    for (const node of nodes) {
      const child = node instanceof Node ? node : new Text(String(node));
      child.remove();
      child.parentElement = this;
      this.childNodes.push(child);
    }
  }

  replaceChildren(...nodes) {
    for (const child of [...this.childNodes]) child.remove();
    this.append(...nodes);
  }

  contains(node) {
    for (let at = node; at; at = at.parentElement) if (at === this) return true;
    return false;
  }

  get isConnected() {
    return document.documentElement.contains(this);
  }

  // ------------------------------------------------------------------------------------------- selectors
  matches(selector) {
    return selector.split(",").some((choice) => {
      const parts = choice.trim().split(/[ >]+/);
      if (!matchesOne(this, parts.pop())) return false;
      for (let at = this.parentElement; at && parts.length; at = at.parentElement) if (matchesOne(at, parts.at(-1))) parts.pop();
      return parts.length === 0;
    });
  }

  closest(selector) {
    for (let at = this; at; at = at.parentElement) if (at.matches(selector)) return at;
    return null;
  }

  querySelectorAll(selector) {
    return this.children.flatMap((child) => [...(child.matches(selector) ? [child] : []), ...child.querySelectorAll(selector)]);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  // ------------------------------------------------------------------------------------------- what people do
  focus() {
    document.activeElement = this;
  }

  click() {
    this.dispatchEvent(new Event("click", { cancelable: true }));
  }

  scrollIntoView() {}
}

function matchesOne(element, compound) {
  return [...compound.matchAll(/([\w-]+)|\.([\w-]+)|#([\w-]+)|\[([\w-]+)(?:="?([^"\]]*)"?)?\]|:(checked)/g)].every(
    ([, tag, className, id, name, value, checked]) =>
      tag ? element.localName === tag
        : className ? element.classList.contains(className)
          : id ? element.id === id
            : checked ? element.checked === true
              : value === undefined ? element.attributes.has(name) : element.getAttribute(name) === value,
  );
}

const elements = (tag) => new HTMLElement(tag);
const root = elements("html");
const document = Object.assign(new EventTarget(), {
  documentElement: root,
  body: elements("body"),
  activeElement: null,
  cookie: "csrftoken=the-token",
  hidden: false,
  createElement: elements,
  createTextNode: (data) => new Text(data),
  createElementNS: (_, tag) => elements(tag),
  querySelector: (selector) => root.querySelector(selector),
  querySelectorAll: (selector) => root.querySelectorAll(selector),
  getElementById: (id) => root.querySelector(`#${id}`),
});
root.append(document.body);

const kept = new Map();
const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
for (const [name, value] of Object.entries({
  Node, HTMLElement, document,
  HTMLInputElement: HTMLElement, HTMLTextAreaElement: HTMLElement, HTMLButtonElement: HTMLElement, HTMLMetaElement: HTMLElement,
  localStorage: {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => kept.set(key, text),
    removeItem: (key) => kept.delete(key),
  },
  location: { protocol: "https:", host: "site.test", origin: "https://site.test" },
  navigator: { onLine: true },
})) define(name, value);

// A note that is still to go away keeps no test waiting.
const { setTimeout: timeout, setInterval: interval } = globalThis;
define("setTimeout", (...given) => timeout(...given).unref());
define("setInterval", (...given) => interval(...given).unref());

/** An empty page with what every page of the site has. Nothing is kept from an earlier one. */
export function freshPage() {
  kept.clear();
  const windowEvents = new EventTarget();
  define("addEventListener", windowEvents.addEventListener.bind(windowEvents));
  define("dispatchEvent", windowEvents.dispatchEvent.bind(windowEvents));
  navigator.onLine = true;
  document.body.replaceChildren();
  element("div", { id: "toasts", "data-icons": "/icons.svg" });
  return document.body;
}

/** An element of the page. */
export function element(tag, attributes = {}, parent = document.body) {
  const made = elements(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  parent.append(made);
  return made;
}

/** What is drawn, as HTML without attributes; text is escaped as a browser would show it. */
export function markup(node) {
  if (!(node instanceof HTMLElement)) return node.textContent.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<${node.localName}>${node.childNodes.map(markup).join("")}</${node.localName}>`;
}

/** Frames are drawn when the test says so: `frames.draw()`. */
export const frames = {
  waiting: new Map(),
  draw() {
    const actions = [...this.waiting.values()];
    this.waiting.clear();
    for (const action of actions) action();
  },
};
let frame = 0;
define("requestAnimationFrame", (action) => {
  frames.waiting.set(++frame, action);
  return frame;
});
define("cancelAnimationFrame", (id) => frames.waiting.delete(id));

/**
 * Answers to the site's calls. `answers`: "METHOD path" → body, [status, body], or a function that makes one of these.
 * Returns the calls that were made: [{call, headers, body}].
 */
export function serve(answers) {
  const calls = [];
  define("fetch", async (url, { method, headers, body, signal }) => {
    const call = `${method} ${url}`;
    calls.push({ call, headers, body: body === undefined ? undefined : JSON.parse(body), signal });
    if (!(call in answers)) throw new TypeError(`nobody answers ${call}`);
    const given = typeof answers[call] === "function" ? await answers[call]() : answers[call];
    if (given instanceof Response) return given;
    const [status, value] = Array.isArray(given) ? given : [200, given];
    return new Response(status === 204 ? null : JSON.stringify(value), { status });
  });
  return calls;
}

/** Until what has been begun has run as far as it can without time passing. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));
