// zh-hant: made by `make messages` from djangojs.po.
globalThis.ragsiteTexts = {};
