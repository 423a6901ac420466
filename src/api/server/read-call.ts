// One request, checked by the schemas of its route: what the handler is given. Refusals name the field, never
// the value.
import type { FastifyRequest } from "fastify";
import type * as z from "zod/mini";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Call, Route } from "../route.ts";
import { textFault } from "./parse-body.ts";
import { readTextFields, type TextFields } from "./read-text-fields.ts";

export function readCall(route: Route, request: FastifyRequest, signal: AbortSignal): Call<Route> {
	const params = readFields("path", route.params, request.params as TextFields);
	const query = readFields("query", route.query, request.query as TextFields);
	const body = route.body === undefined ? undefined : checked("BODY_SHAPE", "body", route.body, request.body);
	const after = (query as { after?: string } | undefined)?.after;
	return {
		params: params as never,
		query: query as never,
		body: body as never,
		bodyRoot: request.assay.root,
		caller: request.assay.caller,
		address: request.assay.group,
		signal,
		requestId: request.id,
		lastEventId: route.kind === "events" ? (readLastEventId(request) ?? after ?? null) : null,
	};
}

/** A route without a schema for its query takes none. */
function readFields(where: string, schema: z.ZodMiniObject | undefined, fields: TextFields): unknown {
	for (const [key, value] of Object.entries(fields))
		for (const text of [key, ...(typeof value === "string" ? [value] : value)]) {
			const fault = textFault(text);
			if (fault !== null) throw new AssayError("REQUEST_BAD", `${where}: ${fault}`);
		}
	if (schema === undefined) {
		if (Object.keys(fields).length > 0) throw new AssayError("REQUEST_BAD", `${where}: this route takes none`);
		return undefined;
	}
	return checked("REQUEST_BAD", where, schema, readTextFields(schema, fields));
}

function checked(code: string, where: string, schema: z.ZodMiniType, value: unknown): unknown {
	const result = schema.safeParse(value);
	if (result.success) return result.data;
	const [first] = result.error.issues;
	const path = [where, ...(first?.path ?? [])].map(String).join(".").slice(0, 200);
	throw new AssayError(code, `${path}: ${(first?.message ?? "wrong").slice(0, 300)}`);
}

function readLastEventId(request: FastifyRequest): string | undefined {
	const value = request.headers["last-event-id"];
	if (value === undefined || value === "") return undefined;
	if (typeof value !== "string" || !/^[A-Za-z0-9_.:-]{1,64}$/.test(value))
		throw new AssayError("REQUEST_BAD", "the header last-event-id is not an id of ours");
	return value;
}
