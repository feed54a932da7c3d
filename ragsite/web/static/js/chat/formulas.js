// Formulas in Markdown: $…$, \(…\), $$…$$ and \[…\]. The same rules as chat/messages/rendering.py, which see;
// tests/markdown_cases.json holds both to the same results.

const MAX_CHARS = 2000;
const MAX_LINES = 50;
const TEX = /[\\^_{]/;
const PROSE = /[A-Za-z]{3}|[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
const NUMBER = /^[\d.,]+$/;
const MARKERS = /^[\d,\s]*$/;
const OPERATOR = /[=<>+*]/;
const ALNUM = /[\p{L}\p{N}]/u;

/** A plugin of markdown-it: tokens `formula` (inline) and `formula_block`, whose content is TeX. @param {any} parser */
export function formulas(parser) {
  parser.inline.ruler.before("escape", "formula", inline);
  parser.block.ruler.before("fence", "formula_block", block, { alt: ["paragraph", "reference", "blockquote", "list"] });
}

/** @param {string} content */
function isFormula(content) {
  if (!content.trim()) return false;
  if (TEX.test(content)) return true;
  if (PROSE.test(content)) return false;
  return !/^\d/.test(content) || NUMBER.test(content) || OPERATOR.test(content);
}

/** @param {any} state @param {boolean} silent */
function inline(state, silent) {
  const { src: source, pos: start } = state;
  const [opening, closing] = source.startsWith("$$", start) ? ["$$", "$$"]
    : source.startsWith("\\(", start) ? ["\\(", "\\)"]
      : source[start] === "$" ? ["$", "$"] : ["", ""];
  if (!opening) return false;
  const begin = start + opening.length;
  const content = source.slice(begin, begin + MAX_CHARS).split(closing, 1)[0];
  const end = begin + content.length;
  if (!source.startsWith(closing, end) || end + closing.length > begin + MAX_CHARS) return false;
  if (!isFormula(content) || (opening === "$" && !dollarsFit(source, start, end))) return false;
  if (!silent) Object.assign(state.push("formula", "", 0), { content: content.trim(), markup: opening });
  state.pos = end + closing.length;
  return true;
}

/** @param {string} source @param {number} start @param {number} end */
function dollarsFit(source, start, end) {
  const before = source.slice(0, start).match(/.$/su)?.[0] ?? "";
  const after = String.fromCodePoint(source.codePointAt(end + 1) ?? 32);
  return !(ALNUM.test(before) || ALNUM.test(after) || /\s/.test(source[start + 1]) || /\s/.test(source[end - 1]));
}

/** @param {any} state @param {number} start @param {number} end @param {boolean} silent */
function block(state, start, end, silent) {
  if (state.sCount[start] - state.blkIndent >= 4) return false;
  const first = state.src.slice(state.bMarks[start] + state.tShift[start], state.eMarks[start]);
  const opening = first.slice(0, 2);
  if (opening !== "$$" && opening !== "\\[") return false;
  const closing = opening === "$$" ? "$$" : "\\]";
  const lines = [];
  for (let line = start; line < Math.min(end, start + MAX_LINES); line += 1) {
    if (line > start && state.sCount[line] < state.blkIndent) return false; // the list or the quote ends
    const text = line === start ? first.slice(2) : state.getLines(line, line + 1, state.blkIndent, false);
    const at = text.indexOf(closing);
    lines.push(at < 0 ? text : text.slice(0, at));
    if (at < 0) continue;
    const content = lines.join("\n").trim();
    if (text.slice(at + 2).trim() || !content || MARKERS.test(content)) return false; // `\[1\]` is an escaped citation
    if (!silent) {
      Object.assign(state.push("formula_block", "", 0), { content, map: [start, line + 1], block: true });
      state.line = line + 1;
    }
    return true;
  }
  return false;
}
