// Where the site's modules lie, in one place. They are loaded after the page's stand-in is there.
import "./page.js";

const SCRIPTS = new URL("../../ragsite/web/static/js/", import.meta.url);

/** @param {string} path as "chat/path.js" */
export const site = (path) => import(new URL(path, SCRIPTS).href);
