// The route table as an OpenAPI 3.1 document. Made from the same schemas that check requests, so it cannot
// disagree with the server.
import * as z from "zod/mini";
import type { Route } from "./route.ts";
import { routeRows } from "./routes.ts";
import { networkEvent, problem } from "./schemas/network.ts";
import { COMMON_PROBLEMS, PROBLEM_TYPE, STATUS_OF_CODE } from "./server/problem.ts";

type Json = Record<string, unknown>;

let made: { version: string; document: Json } | null = null;

/** Made once a version: it is served to anyone who asks. */
export function openapiDocument({ version }: { readonly version: string }): Json {
	if (made?.version !== version) made = { version, document: makeDocument(version) };
	return made.document;
}

function makeDocument(version: string): Json {
	const components: Json = {};
	components.Problem = jsonSchema(problem, "output", components);
	components.Event = jsonSchema(networkEvent, "output", components);
	const paths: Record<string, Json> = {};
	for (const [name, route] of routeRows) {
		const path = route.path.replaceAll(/:([a-z0-9]+)/gi, "{$1}");
		paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route, components) };
	}
	return {
		openapi: "3.1.0",
		jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
		info: {
			title: "assay",
			version,
			description:
				"A network that keeps proving its GPUs. Reads are public; writes need a token with the role, or a signed request.",
		},
		servers: [{ url: "/" }],
		paths,
		components: {
			schemas: components,
			securitySchemes: {
				token: { type: "http", scheme: "bearer", description: "assay_<role>_<random>" },
				signature: {
					type: "apiKey",
					in: "header",
					name: "assay-signature",
					description:
						"Ed25519 over audience, method, path, the body's name, time and nonce; with the headers assay-key, assay-time, assay-nonce and assay-body (docs/network.md §3).",
				},
			},
		},
	};
}

function operation(name: string, route: Route, components: Json): Json {
	const parameters = [...fields("path", route.params, components), ...fields("query", route.query, components)];
	if (route.kind === "events")
		parameters.push({ name: "last-event-id", in: "header", required: false, schema: { type: "string" } });
	return {
		operationId: name,
		summary: route.summary,
		description: `Role: ${route.role}. Counted as a ${route.rate}.`,
		tags: [route.path.split("/")[2] ?? "metrics"],
		...(parameters.length === 0 ? {} : { parameters }),
		...(route.body === undefined
			? {}
			: {
					requestBody: {
						required: true,
						content:
							route.mostBytes === undefined
								? { "application/json": { schema: jsonSchema(route.body, "input", components) } }
								: { "application/octet-stream": { schema: {} } },
					},
				}),
		responses: { [route.status]: success(route, components), ...problems(route) },
		security: route.role === "public" ? [] : [{ token: [] }, { signature: [] }],
	};
}

function success(route: Route, components: Json): Json {
	const content = {
		json: () => ({ "application/json": { schema: jsonSchema(route.reply!, "output", components) } }),
		binary: () => ({ "application/octet-stream": { schema: {} } }),
		events: () => ({ "text/event-stream": { schema: { $ref: "#/components/schemas/Event" } } }),
		text: () => ({ "text/plain": { schema: { type: "string" } } }),
	}[route.kind]();
	return { description: route.summary, content };
}

function problems(route: Route): Json {
	const given: string[] = [...COMMON_PROBLEMS, ...(route.problems ?? [])];
	if (route.role !== "public")
		given.push("CREDENTIALS_MISSING", "ROLE_WRONG", "REQUEST_SIGNATURE", "REQUEST_STALE", "REQUEST_REPLAYED");
	if (route.body !== undefined) given.push("BODY_BAD", "BODY_SHAPE", "BODY_TOO_LARGE", "CONTENT_TYPE_WRONG");
	if (route.kind === "events") given.push("STREAMS_TOO_MANY");
	const byStatus = new Map<number, string[]>();
	for (const code of given) byStatus.set(STATUS_OF_CODE[code]!, [...(byStatus.get(STATUS_OF_CODE[code]!) ?? []), code]);
	return Object.fromEntries(
		[...byStatus].map(([status, list]) => [
			status,
			{
				description: list.join(", "),
				content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
			},
		]),
	);
}

function fields(where: "path" | "query", schema: z.ZodMiniObject | undefined, components: Json): Json[] {
	if (schema === undefined) return [];
	const made = jsonSchema(schema, "input", components) as { properties?: Json; required?: string[] };
	return Object.entries(made.properties ?? {}).map(([name, field]) => ({
		name,
		in: where,
		required: where === "path" || (made.required ?? []).includes(name),
		schema: field,
	}));
}

/** Schemas with an id move to the components; everything else stands where it is used. */
function jsonSchema(schema: z.ZodMiniType, io: "input" | "output", components: Json): Json {
	const {
		$schema: _,
		$defs,
		...rest
	} = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json & { $defs?: Json };
	for (const [id, definition] of Object.entries($defs ?? {})) components[id] = moved(definition);
	return moved(rest) as Json;
}

function moved(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(moved);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value)
			.map(([key, field]) =>
				key === "$ref" && typeof field === "string"
					? [key, field.replace(/^#\/\$defs\//, "#/components/schemas/")]
					: [key, key === "id" && typeof field === "string" ? undefined : moved(field)],
			)
			.filter(([, field]) => field !== undefined),
	);
}
