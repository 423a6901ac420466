// Compact rules of OpenAPI 3.1 and JSON Schema 2020-12: which of them does a document break? Written for the test of openapi.ts.

type Tree = Readonly<Record<string, unknown>>;
type Report = (where: string, what: string) => void;

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];
const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;

/** What each keyword's value must be; "schema", "schemas", "list" hold schemas themselves. Others are unknown, so faults. */
const KEYWORDS: Readonly<Record<string, "schema" | "schemas" | "list" | ((value: unknown) => boolean)>> = {
	type: (v) => TYPES.includes(v as string) || (Array.isArray(v) && v.every((t) => TYPES.includes(t))),
	enum: (v) => Array.isArray(v) && v.length > 0,
	const: () => true,
	default: () => true,
	description: isText,
	readOnly: (v) => typeof v === "boolean",
	pattern: (v) => isText(v) && isPattern(v),
	format: isText,
	minLength: isCount,
	maxLength: isCount,
	minItems: isCount,
	maxItems: isCount,
	minimum: Number.isFinite,
	maximum: Number.isFinite,
	exclusiveMinimum: Number.isFinite,
	exclusiveMaximum: Number.isFinite,
	required: (v) => Array.isArray(v) && v.every(isText) && new Set(v).size === v.length,
	properties: "schemas",
	additionalProperties: "schema",
	propertyNames: "schema",
	items: "schema",
	anyOf: "list",
	oneOf: "list",
	allOf: "list",
	not: "schema",
	$ref: isText,
};

function isPattern(text: string): boolean {
	try {
		new RegExp(text, "u");
		return true;
	} catch {
		return false;
	}
}

export function openapiFaults(document: Tree): string[] {
	const faults: string[] = [];
	const report: Report = (where, what) => faults.push(`${where}: ${what}`);
	if (!/^3\.1\.\d+$/.test(String(document.openapi))) report("openapi", "not 3.1");
	const info = document.info as Tree;
	if (!isText(info?.title) || !isText(info?.version)) report("info", "title and version are needed");
	const ids = new Set<string>();
	for (const [path, item] of Object.entries((document.paths ?? {}) as Tree)) {
		if (!path.startsWith("/")) report(path, "a path begins with a slash");
		for (const [method, operation] of Object.entries(item as Tree)) {
			const where = `${method} ${path}`;
			if (!METHODS.includes(method)) report(where, "not a method");
			else operationFaults(where, path, operation as Tree, document, ids, report);
		}
	}
	for (const [name, schema] of Object.entries(((document.components as Tree)?.schemas ?? {}) as Tree)) {
		if (!/^[a-zA-Z0-9._-]+$/.test(name)) report(name, "not a name of a component");
		schemaFaults(`components.${name}`, schema, report);
	}
	refFaults(document, document, report);
	return faults;
}

function operationFaults(
	where: string,
	path: string,
	operation: Tree,
	document: Tree,
	ids: Set<string>,
	report: Report,
): void {
	const id = String(operation.operationId);
	if (ids.has(id)) report(where, `operationId ${id} twice`);
	ids.add(id);
	const parameters = (operation.parameters ?? []) as Tree[];
	const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
	const declared = parameters.filter((parameter) => parameter.in === "path").map((parameter) => parameter.name);
	if (JSON.stringify([...inPath].sort()) !== JSON.stringify([...declared].sort()))
		report(where, `the path has ${inPath}, declared are ${declared}`);
	const names = new Set<string>();
	for (const parameter of parameters) {
		const name = `${parameter.in} ${parameter.name}`;
		if (names.has(name)) report(where, `${name} twice`);
		names.add(name);
		if (!["path", "query", "header", "cookie"].includes(String(parameter.in))) report(where, `${name}: in nothing`);
		if (parameter.in === "path" && parameter.required !== true) report(where, `${name} must be required`);
		schemaFaults(`${where} ${name}`, parameter.schema, report);
	}
	if (operation.requestBody !== undefined) contentFaults(`${where} body`, operation.requestBody as Tree, report, true);
	const responses = Object.entries((operation.responses ?? {}) as Tree);
	if (responses.length === 0) report(where, "no responses");
	for (const [status, response] of responses) {
		if (!/^([1-5][0-9][0-9]|[1-5]XX|default)$/.test(status)) report(where, `${status} is no status`);
		if (!isText((response as Tree).description)) report(`${where} ${status}`, "no description");
		contentFaults(`${where} ${status}`, response as Tree, report, false);
	}
	const schemes = Object.keys(((document.components as Tree)?.securitySchemes ?? {}) as Tree);
	for (const needed of (operation.security ?? []) as Tree[])
		for (const name of Object.keys(needed)) if (!schemes.includes(name)) report(where, `no security scheme ${name}`);
}

function contentFaults(where: string, holder: Tree, report: Report, isNeeded: boolean): void {
	const content = Object.entries((holder.content ?? {}) as Tree);
	if (isNeeded && content.length === 0) report(where, "no content");
	for (const [type, media] of content) {
		if (!/^[a-z]+\/[a-z0-9.+-]+$/.test(type)) report(where, `${type} is no media type`);
		schemaFaults(`${where} ${type}`, (media as Tree).schema, report);
	}
}

function schemaFaults(where: string, schema: unknown, report: Report): void {
	if (typeof schema === "boolean") return;
	if (!isTree(schema)) {
		report(where, "not a schema");
		return;
	}
	for (const [keyword, value] of Object.entries(schema)) {
		const rule = KEYWORDS[keyword];
		const here = `${where}.${keyword}`;
		if (rule === undefined) report(here, "not a keyword that is known");
		else if (rule === "schema") schemaFaults(here, value, report);
		else if (rule === "schemas") {
			if (!isTree(value)) report(here, "not a table of schemas");
			else for (const [name, inner] of Object.entries(value)) schemaFaults(`${here}.${name}`, inner, report);
		} else if (rule === "list") {
			if (!Array.isArray(value) || value.length === 0) report(here, "not a list of schemas");
			else for (const [i, inner] of value.entries()) schemaFaults(`${here}.${i}`, inner, report);
		} else if (!rule(value)) report(here, "wrong value");
	}
	const { properties, required } = schema as { properties?: Tree; required?: unknown };
	if (Array.isArray(required))
		for (const name of required)
			if (!Object.hasOwn(properties ?? {}, name)) report(where, `requires ${name}, which is not there`);
}

function refFaults(node: unknown, document: Tree, report: Report): void {
	if (Array.isArray(node)) for (const item of node) refFaults(item, document, report);
	if (!isTree(node)) return;
	for (const [key, value] of Object.entries(node)) {
		if (key !== "$ref" || !isText(value)) {
			refFaults(value, document, report);
			continue;
		}
		const found = value.startsWith("#/")
			? value
					.slice(2)
					.split("/")
					.reduce<unknown>(
						(at, part) => (isTree(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
						document,
					)
			: undefined;
		if (found === undefined) report(value, "refers to nothing");
	}
}
