// The parts of the page as tabs, where there is no room for all of them side by side.

export class Views {
  constructor(list, workbench, onOpen) {
    this.workbench = workbench;
    this.onOpen = onOpen;
    this.tabs = [...list.querySelectorAll('[role="tab"]')];
    list.addEventListener("click", (event) => {
      const tab = event.target.closest('[role="tab"]');
      if (tab) this.open(tab.id.slice(4));
    });
    list.addEventListener("keydown", (event) => this.keys(event));
  }

  get current() {
    return this.workbench.dataset.view;
  }

  open(name) {
    this.onOpen(name);
    this.workbench.dataset.view = name;
    for (const tab of this.tabs) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
  }

  keys(event) {
    const at = this.tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: this.tabs.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const tab = this.tabs[(to + this.tabs.length) % this.tabs.length];
    tab.focus();
    this.open(tab.id.slice(4));
  }
}
