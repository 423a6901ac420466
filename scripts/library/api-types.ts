// The client of the API as plain TypeScript declarations, made from the OpenAPI document: whoever installs
// the package needs no zod to have types. By hand until packages that do it (openapi-typescript) run with
// TypeScript 7, which has no API yet. Pure. Not here: where they go (pack-library.ts).

type Json = Readonly<Record<string, unknown>>;
interface Operation {
	readonly operationId: string;
	readonly summary: string;
	readonly description: string;
	readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Json }[];
	readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
	readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, { schema: Json }>> }>>;
}
export interface ApiDocument {
	readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
	readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

const HEAD = `// The API of a network, one method a route. Made from the route table; docs/api.md is the page.
import type { Signer } from "./protocol/probe/signer.js";
export { AssayError } from "./protocol/assay-error.js";
export { createSigner, type Signer } from "./protocol/probe/signer.js";

export interface ApiClientOptions {
	/** e.g. http://127.0.0.1:8027 */
	readonly baseUrl: string;
	readonly token?: string;
	/** Signs every request that is not public. */
	readonly signer?: Signer;
	/** The validator's key that signed requests must name. Pin it; without it the server is asked once, and believed. */
	readonly audience?: string;
	readonly fetch?: typeof globalThis.fetch;
	/** Of one try, event streams excepted. Default 30,000. */
	readonly timeoutMs?: number;
	/** Further tries of a read that found no server or an overloaded one. Default 3. */
	readonly retries?: number;
}

export interface CallOptions {
	readonly signal?: AbortSignal;
	/** Event streams only: go on after this one. */
	readonly lastEventId?: string;
}

/** Throws AssayError: the problem's code, sentence and hint. Reads are tried again, writes never. */
export declare function createApiClient(options: ApiClientOptions): ApiClient;

type Paged = { [N in keyof Routes]: Routes[N] extends (...args: never) => Promise<{ rows: (infer _)[]; cursor: string | null }> ? N : never }[keyof Routes];
type RowOf<N extends Paged> = Routes[N] extends (...args: never) => Promise<{ rows: (infer Row)[] }> ? Row : never;

export interface ApiClient extends Routes {
	/** Every row of every page, one page in memory. */
	rows<N extends Paged>(name: N, ...args: Parameters<Routes[N]>): AsyncGenerator<RowOf<N>>;
}
`;

/** A JSON schema as a type; shapes that it does not know are `unknown`, never a wrong type. */
function typeOf(schema: Json): string {
	if (typeof schema.$ref === "string") return typeName(schema.$ref.split("/").at(-1)!);
	if ("const" in schema) return JSON.stringify(schema.const);
	if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
	const either = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
	if (either !== undefined) return [...new Set(either.map(typeOf))].map(bracketed).join(" | ");
	if (Array.isArray(schema.allOf)) return (schema.allOf as Json[]).map(typeOf).map(bracketed).join(" & ");
	if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
	if (schema.type === "object") return objectOf(schema);
	if (schema.type === "array") {
		const { prefixItems, items } = schema as { prefixItems?: Json[]; items?: Json };
		if (prefixItems !== undefined) return `[${prefixItems.map(typeOf).join(", ")}]`;
		return `${bracketed(typeOf(items ?? {}))}[]`;
	}
	const plain: Readonly<Record<string, string>> = { integer: "number", null: "null" };
	const type = String(schema.type);
	return plain[type] ?? (["string", "number", "boolean"].includes(type) ? type : "unknown");
}

/** `Event` is something else in a browser. */
const typeName = (name: string): string => (name === "Event" ? "NetworkEvent" : name);
const bracketed = (type: string): string => (/ [|&] /.test(type) && !/^[{[]/.test(type) ? `(${type})` : type);
const nameOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

function objectOf(schema: Json): string {
	const {
		properties = {},
		required = [],
		additionalProperties,
	} = schema as {
		properties?: Record<string, Json>;
		required?: string[];
		additionalProperties?: Json | boolean;
	};
	const fields = Object.entries(properties).map(
		([name, field]) => `${nameOf(name)}${required.includes(name) ? "" : "?"}: ${typeOf(field)}`,
	);
	if (fields.length > 0) return `{ ${fields.join("; ")} }`;
	const isMap = typeof additionalProperties === "object";
	return `{ [name: string]: ${isMap ? typeOf(additionalProperties) : "unknown"} }`;
}

function inputOf({ parameters = [], requestBody }: Operation): { readonly type: string; readonly isNeeded: boolean } {
	const parts: string[] = [];
	let isNeeded = false;
	for (const [key, where] of [
		["params", "path"],
		["query", "query"],
	] as const) {
		const own = parameters.filter((parameter) => parameter.in === where);
		if (own.length === 0) continue;
		const needs = own.some(({ required }) => required);
		isNeeded ||= needs;
		const properties = Object.fromEntries(own.map(({ name, schema }) => [name, schema]));
		const required = own.filter((one) => one.required).map(({ name }) => name);
		parts.push(`readonly ${key}${needs ? "" : "?"}: ${objectOf({ properties, required })}`);
	}
	if (requestBody !== undefined) {
		const json = requestBody.content["application/json"];
		isNeeded = true;
		parts.push(`readonly body: ${json === undefined ? "Uint8Array" : typeOf(json.schema)}`);
	}
	return { type: parts.length === 0 ? "object" : `{ ${parts.join("; ")} }`, isNeeded };
}

function replyOf({ responses }: Operation): string {
	const good = Object.entries(responses).find(([status]) => status.startsWith("2"))![1];
	const [kind, { schema }] = Object.entries(good.content)[0]!;
	if (kind === "text/event-stream") return "AsyncIterable<NetworkEvent>";
	if (kind === "application/octet-stream") return "Promise<Uint8Array>";
	return `Promise<${kind === "text/plain" ? "string" : typeOf(schema)}>`;
}

export function apiTypes(document: ApiDocument): string {
	const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
	const methods = operations.map((operation) => {
		const { type, isNeeded } = inputOf(operation);
		const about = `${operation.summary}. ${operation.description}`.replaceAll("*/", "* /");
		return `\t/** ${about} */\n\t${operation.operationId}(input${isNeeded ? "" : "?"}: ${type}, options?: CallOptions): ${replyOf(operation)};`;
	});
	const named = Object.entries(document.components.schemas).map(
		([name, schema]) => `export type ${typeName(name)} = ${typeOf(schema)};`,
	);
	return [HEAD, `export interface Routes {\n${methods.join("\n")}\n}\n`, ...named, ""].join("\n");
}
