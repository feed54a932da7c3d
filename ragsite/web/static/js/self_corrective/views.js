// The parts of the page as tabs, where there is no room for all of them side by side.

export class Views {
  /** @param {HTMLElement} list @param {HTMLElement} workbench @param {(name: string) => unknown} onOpen */
  constructor(list, workbench, onOpen) {
    this.workbench = workbench;
    this.onOpen = onOpen;
    /** @type {HTMLElement[]} */
    this.tabs = [...list.querySelectorAll(/** @type {"a"} */ ('[role="tab"]'))];
    list.addEventListener("click", (event) => {
      const tab = this.tabs.find((candidate) => candidate.contains(/** @type {Node} */ (event.target)));
      if (tab) this.open(tab.id.slice(4));
    });
    list.addEventListener("keydown", (event) => this.keys(event));
  }

  /** @param {string} name */
  open(name) {
    this.onOpen(name);
    this.workbench.dataset.view = name;
    for (const tab of this.tabs) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
  }

  /** @param {KeyboardEvent} event */
  keys(event) {
    const at = this.tabs.findIndex((tab) => tab === document.activeElement);
    /** @type {Record<string, number | undefined>} */
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.tabs.length - 1 };
    const to = moves[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const tab = this.tabs[(to + this.tabs.length) % this.tabs.length];
    tab.focus();
    this.open(tab.id.slice(4));
  }
}
