// solc's own WebAssembly build, with its `invoke_…` imports as WebAssembly instead of JavaScript. A C++ call
// that might throw goes through one of them: it calls a function by its place in solc's table, and catches
// what that throws. In and out of JavaScript that is a quarter of all compiling. Here a small module does it,
// written below byte by byte: what is thrown and who catches it stays the same. Not here: any change to solc,
// and what it is told to compile.
"use strict";

const { readFileSync } = require("node:fs");

const TYPES = { i: 0x7f, f: 0x7d, d: 0x7c };
const ZEROS = { v: [], i: [0x41, 0], f: [0x43, 0, 0, 0, 0], d: [0x44, 0, 0, 0, 0, 0, 0, 0, 0] };
const [CALL, CALL_INDIRECT, GET, SET, CONST, END] = [0x10, 0x11, 0x20, 0x21, 0x41, 0x0b];
const [TRY, CATCH_ALL, RETHROW, IF, IS_ZERO, NOTHING] = [0x06, 0x19, 0x09, 0x04, 0x45, 0x40];
/** Tables of the module: solc's own functions, at their places there, and those that keep its stack. */
const [FUNCTIONS, STACK] = [0, 1];
const [SAVE, RESTORE, SET_THREW] = [0, 1, 2];
const OF_STACK = ["stackSave", "stackRestore", "_setThrew"];
/**
 * Where C++ throws. What else throws, such as an abort, is none of its exceptions, and nobody there may catch
 * it.
 */
const THROWERS = ["___cxa_throw", "___cxa_rethrow", "___resumeException"];

function number(value) {
	const bytes = [];
	for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
	return [...bytes, value];
}
const list = (items) => [...number(items.length), ...items.flat()];
const text = (word) => list([...Buffer.from(word)]);
const sized = (bytes) => [...number(bytes.length), ...bytes];
const section = (id, items) => [id, ...sized(list(items))];
/** Of a function `result, …parameters`, as in the names of imports: "vii" returns nothing. */
const typeOf = ([result, ...rest]) => [0x60, ...list(rest.map((letter) => [TYPES[letter]])), ...list(result === "v" ? [] : [[TYPES[result]]])];

/** A module with one function for each of these: it takes a place in the table, then the parameters. */
function trampolines(signatures) {
	const types = [];
	const type = (signature) => {
		if (!types.includes(signature)) types.push(signature);
		return number(types.indexOf(signature));
	};
	const keep = (which, signature) => [CONST, which, CALL_INDIRECT, ...type(signature), STACK];
	const bodies = signatures.map((signature) => {
		const [result, ...parameters] = signature;
		const stack = number(parameters.length + 1);
		return sized([
			...list([[1, TYPES.i]]),
			...[...keep(SAVE, "i"), SET, ...stack],
			...[TRY, result === "v" ? NOTHING : TYPES[result]],
			...[...parameters.flatMap((_, at) => [GET, ...number(at + 1)]), GET, 0, CALL_INDIRECT, ...type(signature), FUNCTIONS],
			...[CATCH_ALL, CALL, 0, IS_ZERO, IF, NOTHING, RETHROW, 1, END],
			...[GET, ...stack, ...keep(RESTORE, "vi"), CONST, 1, CONST, 0, ...keep(SET_THREW, "vii"), ...ZEROS[result]],
			...[END, END],
		]);
	});
	const functions = signatures.map(([result, ...rest]) => type([result, "i", ...rest].join("")));
	const imports = [[...text("assay"), ...text("isOfCpp"), 0, ...type("i")]];
	const tables = [[0x70, 0, 0], [0x70, 0, ...number(OF_STACK.length)]];
	const exports = [
		...signatures.map((signature, at) => [...text(`invoke_${signature}`), 0, ...number(at + 1)]),
		...[[...text("functions"), 1, FUNCTIONS], [...text("stack"), 1, STACK]],
	];
	const sections = [section(1, types.map(typeOf)), section(2, imports), section(3, functions), section(4, tables)];
	sections.push(section(7, exports), section(10, bodies));
	return new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flat()]);
}

/**
 * What solc imports, with those functions in it, and what binds them to the instance that they were made for.
 */
function withTrampolines(imports) {
	// Those with 64-bit numbers stay: their imports have two parameters for one.
	const signatures = Object.values(imports).flatMap(({ name = "" }) => /^invoke_([vifd]+)$/.exec(name)?.[1] ?? []);
	let isOfCpp = false;
	const taken = () => {
		const was = isOfCpp;
		isOfCpp = false;
		return was ? 1 : 0;
	};
	const module = new WebAssembly.Module(trampolines(signatures));
	const { functions, stack, ...invokes } = new WebAssembly.Instance(module, { assay: { isOfCpp: taken } }).exports;
	const replaced = Object.entries(imports).map(([key, value]) => {
		const { name } = value;
		if (THROWERS.includes(name))
			return [key, (...given) => {
				isOfCpp = true;
				return value(...given);
			}];
		if (!/^invoke_/.test(name)) return [key, value];
		return [key, invokes[name] ?? ((...given) => {
			const result = value(...given);
			// It may have caught one.
			isOfCpp = false;
			return result;
		})];
	});
	const bind = (exports) => {
		const table = Object.values(exports).find((value) => value instanceof WebAssembly.Table);
		functions.grow(table.length);
		for (let at = 0; at < table.length; at++) functions.set(at, table.get(at));
		// solc's JavaScript adds what it is called back by.
		table.set = function (at, value) {
			WebAssembly.Table.prototype.set.call(this, at, value);
			if (at >= functions.length) functions.grow(at + 1 - functions.length);
			functions.set(at, this.get(at));
		};
		const source = readFileSync(require.resolve("solc/soljson.js"), "latin1");
		for (const [at, name] of OF_STACK.entries()) {
			const [, exported] = new RegExp(`\\b${name} = Module\\["${name}"\\] = asm\\["(\\w+)"\\]`).exec(source) ?? [];
			if (exported === undefined) throw new Error(`solc/soljson.js does not name ${name} as 0.8.37 does`);
			stack.set(at, exports[exported]);
		}
	};
	return { imports: Object.fromEntries(replaced), bind };
}

const { Instance } = WebAssembly;
WebAssembly.Instance = function (module, { a: plain }) {
	WebAssembly.Instance = Instance;
	const { imports, bind } = withTrampolines(plain);
	const instance = new Instance(module, { a: imports });
	bind(instance.exports);
	return instance;
};
module.exports = require("solc/soljson.js");
WebAssembly.Instance = Instance;
