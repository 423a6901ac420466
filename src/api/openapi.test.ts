// The OpenAPI document by the rules of OpenAPI 3.1 and JSON Schema 2020-12, as far as this document uses them; and docs/api.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { codes } from "../protocol/codes.ts";
import { API_PAGE, apiPage } from "./api-page.test-kit.ts";
import { openapiDocument } from "./openapi.ts";
import { openapiFaults } from "./openapi-faults.test-kit.ts";
import { routeRows } from "./routes.ts";
import { STATUS_OF_CODE } from "./server/problem.ts";

type Tree = Record<string, unknown>;
const document = (): Tree => structuredClone(openapiDocument({ version: "1.2.3" }));

test("the document follows the rules", () => {
	assert.deepEqual(openapiFaults(document()), []);
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

/** Each breaks one rule; the checker must see it. */
const spoilers: [string, (tree: Tree) => void][] = [
	["version", (tree) => (tree.openapi = "3.0.0")],
	["no title", (tree) => (tree.info = { version: "1" })],
	["a path without a slash", (tree) => ((tree.paths as Tree).x = {})],
	["an unknown method", (tree) => (at(tree, "paths", "/v1/network").fetch = {})],
	["operationId twice", (tree) => (at(tree, "paths", "/v1/network", "get").operationId = "health")],
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
	["a keyword that is none", (tree) => (at(tree, "components", "schemas", "Problem").nullable = true)],
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
	test(`the checker sees ${what}`, () => {
		const tree = document();
		spoil(tree);
		assert.notDeepEqual(openapiFaults(tree), []);
	});

test("every code that a route names is in the table and has a status", () => {
	for (const [name, { problems = [] }] of routeRows)
		for (const code of problems) assert.ok(code in codes && code in STATUS_OF_CODE, `${name}: ${code}`);
	for (const code of Object.keys(STATUS_OF_CODE)) assert.ok(code in codes, code);
});

test("docs/api.md is what the table makes", () => {
	assert.equal(readFileSync(API_PAGE, "utf8"), apiPage(), "run node src/api/api-page.test-kit.ts");
});
