import { build } from "esbuild";
const shared = { bundle: true, minify: true, format: "esm", legalComments: "none", charset: "utf8" };
await build({ ...shared, entryPoints: ["node_modules/markdown-it/lib/index.mjs"], outfile: "out/markdown-it.js",
  alias: { "linkify-it": "./linkify.js", "punycode.js": "./punycode.js", entities: "./entities.js" },
  banner: { js: "// @ts-nocheck\n/*! markdown-it 14.3.3, without linkify, punycode and the table of entities. https://github.com/markdown-it/markdown-it MIT */" } });
