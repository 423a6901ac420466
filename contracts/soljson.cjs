// solc's own WebAssembly build, with a memory for its table of functions. A C++ call that might throw goes through
// JavaScript there, which asks the engine for the function behind the pointer each time; that is a quarter of all
// compiling. solc never changes its table, and a changed entry is forgotten here. Not here: any change to solc.
"use strict";

const { get, set } = WebAssembly.Table.prototype;
const known = new WeakMap();

function entriesOf(table) {
	let entries = known.get(table);
	if (entries === undefined) known.set(table, (entries = []));
	return entries;
}

WebAssembly.Table.prototype.get = function (index) {
	const entries = entriesOf(this);
	return (entries[index] ??= get.call(this, index));
};
WebAssembly.Table.prototype.set = function (index, ...value) {
	delete entriesOf(this)[index];
	return set.call(this, index, ...value);
};

module.exports = require("solc/soljson.js");
