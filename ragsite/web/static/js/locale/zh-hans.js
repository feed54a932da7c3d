// zh-hans: made by `make messages` from djangojs.po.
globalThis.ragsiteTexts = {};
