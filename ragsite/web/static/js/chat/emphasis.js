// Bold words in Chinese, Japanese and Korean text. The same rule as retrieval/engine/text/statements.py, which see;
// tests/markdown_cases.json holds both to the same results.

const CJK = "[\\u1100-\\u11ff\\u2e80-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff\\ufe30-\\ufe4f\\uff00-\\uffef\\u{20000}-\\u{3ffff}]";
const ENDS_CJK = new RegExp(`${CJK}$`, "u");
const BEGINS_CJK = new RegExp(`^${CJK}`, "u");

/** A plugin of markdown-it. @param {any} parser */
export function cjkEmphasis(parser) {
  parser.inline.ruler.before("emphasis", "cjk_emphasis", bold);
}

/** @param {any} state @param {boolean} silent */
function bold(state, silent) {
  const start = state.pos;
  if (silent || state.src[start] !== "*") return false;
  const { length } = state.scanDelims(start, true);
  const before = start > 0 ? state.src.slice(Math.max(start - 2, 0), start) : " ";
  const after = state.src.slice(start + length, Math.min(start + length + 2, state.posMax)) || " ";
  if (length < 2 || !(ENDS_CJK.test(before) || BEGINS_CJK.test(after))) return false;
  for (let count = 0; count < length; count += 1) {
    state.push("text", "", 0).content = "*";
    state.delimiters.push({
      marker: 42, length, token: state.tokens.length - 1, end: -1, open: !/^\s/.test(after), close: !/\s$/.test(before),
    });
  }
  state.pos += length;
  return true;
}
