// The keys of a page with a conversation; shell.js has those of every page.
import { isTyping } from "../shell.js";

/**
 * @param {object} on
 * @param {import("./open_panel.js").OpenPanel} on.panel Escape closes it
 * @param {() => unknown} on.stop Escape, where it is closed
 * @param {() => unknown} on.write "/"
 * @param {() => unknown} on.startAnew Alt and N
 * @param {() => unknown} [on.temporary] Alt and T
 */
export function listenForShortcuts({ panel, stop, write, startAnew, temporary }) {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open], body > .menu")) {
      if (panel.isOpen) panel.close();
      else stop();
    }
    if (event.key === "/" && !isTyping(event.target)) {
      event.preventDefault();
      write();
    }
    if (event.altKey && event.code === "KeyN") {
      event.preventDefault();
      startAnew();
    }
    if (event.altKey && event.code === "KeyT" && temporary) {
      event.preventDefault();
      temporary();
    }
  });
}
