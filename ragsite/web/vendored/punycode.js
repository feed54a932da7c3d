export default { toASCII: (host) => host, toUnicode: (host) => host };
