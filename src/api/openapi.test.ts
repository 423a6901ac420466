// The OpenAPI document by the rules of OpenAPI 3.1 and JSON Schema 2020-12; and docs/api.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { codes } from "../protocol/codes.ts";
import { API_PAGE, apiPage } from "./api-page.test-kit.ts";
import { openapiDocument } from "./openapi.ts";
import { routeRows } from "./routes.ts";
import { STATUS_OF_CODE } from "./server/problem.ts";

type Tree = Record<string, unknown>;
const document = (): Tree => structuredClone(openapiDocument({ version: "1.2.3" }));

const validator = new Validator();

/** The document by OpenAPI's own schema, its schemas by JSON Schema's, and two rules that neither states. */
async function faultsOf(tree: Tree): Promise<unknown[]> {
	const { valid, errors } = await validator.validate(structuredClone(tree));
	return [...(valid ? [] : [errors]), ...schemaFaults(tree), ...operationFaults(tree)];
}

/** Compiles all of the document's schemas as one, which refers to each. */
function schemaFaults(tree: Tree): unknown[] {
	const schemas = { ...at(tree, "components", "schemas"), ...schemasBelow(tree.paths) };
	const whole = { $defs: schemas, anyOf: Object.keys(schemas).map((name) => ({ $ref: `#/$defs/${name}` })) };
	try {
		const ajv = new Ajv2020({
			strictTypes: false,
			validateFormats: false,
			inlineRefs: false,
			code: { optimize: false },
		});
		ajv.compile(JSON.parse(JSON.stringify(whole).replaceAll("#/components/schemas/", "#/$defs/")));
		return [];
	} catch (error) {
		return [error];
	}
}

/** Each different one once. */
function schemasBelow(node: unknown): Tree {
	const found = new Set<string>();
	JSON.stringify(node, (key, value) => {
		if (key !== "schema") return value;
		found.add(JSON.stringify(value));
	});
	return Object.fromEntries([...found].map((schema, i) => [String(i), JSON.parse(schema)]));
}

function operationFaults({ paths, components }: Tree): unknown[] {
	const schemes = Object.keys((components as Tree).securitySchemes as Tree);
	return Object.entries(paths as Record<string, Record<string, Tree>>).flatMap(([path, item]) =>
		Object.values(item).flatMap(({ parameters = [], security = [] }) => {
			const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
			const declared = (parameters as Tree[]).filter((one) => one.in === "path").map(({ name }) => name);
			const unknown = (security as Tree[]).flatMap(Object.keys).filter((name) => !schemes.includes(name));
			return [...(String(inPath.sort()) === String(declared.sort()) ? [] : [path]), ...unknown];
		}),
	);
}

test("the document follows the rules", async () => {
	assert.deepEqual(await faultsOf(document()), []);
	assert.ok(Object.keys(schemasBelow(document().paths)).length > 50);
});

test("the document has every route, once", () => {
	const paths = document().paths as Record<string, Record<string, { operationId: string }>>;
	const found = Object.entries(paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, { operationId }]) => `${operationId} ${method} ${path}`),
	);
	const wanted = routeRows.map(
		([name, { method, path }]) => `${name} ${method.toLowerCase()} ${path.replaceAll(/:([a-z0-9]+)/gi, "{$1}")}`,
	);
	assert.deepEqual(found.sort(), wanted.sort());
});

/** Each breaks one rule, and the checker must see it. An operationId twice is seen by the test above. */
const spoilers: [string, (tree: Tree) => void][] = [
	["version", (tree) => (tree.openapi = "3.0.0")],
	["no title", (tree) => (tree.info = { version: "1" })],
	["a path without a slash", (tree) => ((tree.paths as Tree).x = {})],
	["an unknown method", (tree) => (at(tree, "paths", "/v1/network").fetch = {})],
	["a path parameter that is not declared", (tree) => delete at(tree, "paths", "/v1/providers/{id}", "get").parameters],
	["a parameter that is not in the path", (tree) => (firstParameter(tree).name = "other")],
	["an optional path parameter", (tree) => (firstParameter(tree).required = false)],
	["no responses", (tree) => (at(tree, "paths", "/v1/network", "get").responses = {})],
	[
		"a response without a description",
		(tree) => delete at(tree, "paths", "/v1/network", "get", "responses", "200").description,
	],
	[
		"a response that is no status",
		(tree) => (at(tree, "paths", "/v1/network", "get", "responses").fine = { description: "" }),
	],
	["a reference to nothing", (tree) => delete at(tree, "components", "schemas").Problem],
	["an unknown security scheme", (tree) => (at(tree, "paths", "/v1/tokens", "get").security = [{ cookie: [] }])],
	["a type that is none", (tree) => (at(tree, "components", "schemas", "Problem").type = "thing")],
	["a bad pattern", (tree) => (at(tree, "components", "schemas", "Problem", "properties", "code").pattern = "(")],
	["a keyword that is none", (tree) => (at(tree, "components", "schemas", "Problem").exmaple = true)],
	["required that is no list", (tree) => (at(tree, "components", "schemas", "Problem").required = "type")],
	[
		"a bound that is no number",
		(tree) => (at(tree, "components", "schemas", "Problem", "properties", "status").minimum = "0"),
	],
];

function at(tree: Tree, ...path: string[]): Tree {
	return path.reduce((node, key) => node[key] as Tree, tree);
}
const firstParameter = (tree: Tree) => (at(tree, "paths", "/v1/providers/{id}", "get").parameters as Tree[])[0]!;

for (const [what, spoil] of spoilers)
	test(`the checker sees ${what}`, async () => {
		const tree = document();
		spoil(tree);
		assert.notDeepEqual(await faultsOf(tree), []);
	});

test("every code that a route names is in the table and has a status", () => {
	for (const [name, { problems = [] }] of routeRows)
		for (const code of problems) assert.ok(code in codes && code in STATUS_OF_CODE, `${name}: ${code}`);
	for (const code of Object.keys(STATUS_OF_CODE)) assert.ok(code in codes, code);
});

test("docs/api.md is what the table makes", () => {
	assert.equal(readFileSync(API_PAGE, "utf8"), apiPage(), "run node src/api/api-page.test-kit.ts");
});
