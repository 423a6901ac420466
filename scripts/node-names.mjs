// Prints what this Node's library has, by owner: "" what is global, then each of these, "import.meta", and
// each module. Run by the oldest Node that we promise and by the one that tests run with: release.test.ts
// looks for what only the latter has.
import { builtinModules } from "node:module";

const namesOf = (value) =>
	value !== null && (typeof value === "object" || typeof value === "function") ? Object.getOwnPropertyNames(value) : [];
const names = { "": Object.getOwnPropertyNames(globalThis), "import.meta": Object.keys(import.meta) };
for (const name of names[""]) names[name] = namesOf(globalThis[name]);
names.process.push(...namesOf(Object.getPrototypeOf(process)), ...namesOf(process.constructor.prototype));
for (const name of builtinModules.filter((one) => !/^_|^node:|^(punycode|sys|wasi|test)/.test(one))) {
	const module = await import(`node:${name}`);
	names[`node:${name}`] = [...new Set([...Object.keys(module), ...namesOf(module.default)])];
}
console.log(JSON.stringify(names));
