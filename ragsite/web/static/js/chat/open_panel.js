// The panel of a source, which is fetched with the first source that is opened.
import { errorToast } from "../ui.js";

export class OpenPanel {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** @type {import("./source_panel.js").SourcePanel | null} */
    this.panel = null;
    /** Grows when it is closed, so that what is still being fetched does not open afterwards. */
    this.closings = 0;
  }

  get isOpen() {
    return this.panel?.isOpen ?? false;
  }

  /** @param {Parameters<import("./source_panel.js").SourcePanel["open"]>} shown as of the panel itself */
  async open(...shown) {
    const before = this.closings;
    try {
      const { SourcePanel } = await import("./source_panel.js");
      this.panel ??= new SourcePanel(this.element);
    } catch (error) {
      errorToast(/** @type {Error} */ (error));
      return;
    }
    if (this.closings === before) this.panel.open(...shown);
  }

  close() {
    this.closings += 1;
    this.panel?.close();
  }
}
