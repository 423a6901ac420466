// docs/api.md as it must be for the route table. Run by itself it writes the page: node
// src/api/api-page.test-kit.ts
import { writeFileSync } from "node:fs";
import { openapiDocument } from "./openapi.ts";
import { routeRows } from "./routes.ts";
import { STATUS_OF_CODE } from "./server/problem.ts";
import { DEFAULT_LIMITS } from "./server/server-options.ts";

export const API_PAGE = new URL("../../docs/api.md", import.meta.url);

interface Parameter {
	readonly name: string;
	readonly in: string;
	readonly required: boolean;
	readonly schema: Schema;
}
interface Schema {
	readonly properties?: Readonly<Record<string, unknown>>;
	readonly required?: readonly string[];
	readonly oneOf?: readonly Schema[];
	readonly anyOf?: readonly Schema[];
}
interface Operation {
	readonly parameters?: readonly Parameter[];
	readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

const MiB = 1024 * 1024;

const KiB = 1024;
/** Routes that take longer JSON. */
const LONGER = routeRows
	.flatMap(([name, { mostJsonBytes }]) => (mostJsonBytes === undefined ? [] : [`\`${name}\` ${mostJsonBytes / KiB}`]))
	.join(", ");

export function apiPage(): string {
	const { paths } = openapiDocument({ version: "0" }) as { paths: Record<string, Record<string, Operation>> };
	const rows = routeRows.map(([name, route]) => {
		const path = route.path.replaceAll(/:([a-z0-9]+)/gi, "{$1}");
		const operation = paths[path]![route.method.toLowerCase()]!;
		const query = (operation.parameters ?? [])
			.filter((parameter) => parameter.in === "query")
			.map((parameter) => `\`${parameter.name}${parameter.required ? "" : "?"}\``);
		const body = operation.requestBody?.content["application/json"]?.schema;
		const fields = route.mostBytes !== undefined ? "bytes" : body === undefined ? "" : bodyFields(body);
		const takes = [query.join(" "), fields && `body: ${fields}`].filter(Boolean).join("; ");
		const gives = route.kind === "json" ? String(route.status) : `${route.status}, ${route.kind}`;
		const codes = (route.problems ?? []).map((code) => `\`${code}\` ${STATUS_OF_CODE[code]}`).join(", ");
		return `| \`${name}\` | \`${route.method} ${path}\` | ${route.role} | ${route.summary} | ${takes} | ${gives} | ${codes} |`;
	});
	return `# The API

Made from \`src/api/routes.ts\` by \`node src/api/api-page.test-kit.ts\`; a test keeps the two in step.
\`/v1/openapi.json\` has every field.

- **Credentials.** Reads are public where the table says so. Other routes need
  \`authorization: Bearer assay_<role>_<random>\`, or a signed request (docs/network.md §3) by a key with that
  role. Admins may call everything; a *member* is a customer, a provider or a validator.
- **Errors** are problem documents (\`application/problem+json\`) with a code of docs/codes.md.
- **Lists** are paged: \`{rows, cursor}\`, \`cursor\` is null on the last page, \`limit\` at most 500.
- **Limits.** Bodies are JSON of at most ${DEFAULT_LIMITS.bodyBytes / KiB} KiB
  (${LONGER});
  pieces of blobs are \`application/octet-stream\` of at most 1 MiB. An address may make ${DEFAULT_LIMITS.readsPerS} reads,
  ${DEFAULT_LIMITS.writesPerS} writes and ${DEFAULT_LIMITS.transfersPerS} transfers of pieces a second and hold
  ${DEFAULT_LIMITS.streamsPerAddress} event streams; a reader that falls more than
  ${DEFAULT_LIMITS.streamBufferBytes / MiB} MiB behind is disconnected.
- **Event streams** resume after \`Last-Event-ID\` (or \`after\`); the event \`end\` says that there is nothing
  more.

Every route can also answer \`REQUEST_BAD\` 400, \`CREDENTIALS_REFUSED\` 401, \`RATE_LIMITED\` 429,
\`SERVER_FAILED\` 500; those with a role \`CREDENTIALS_MISSING\`, \`REQUEST_SIGNATURE\`, \`REQUEST_STALE\`,
\`REQUEST_REPLAYED\` 401, \`ROLE_WRONG\` 403; those with a body \`BODY_BAD\`, \`BODY_SHAPE\` 400,
\`BODY_TOO_LARGE\` 413, \`CONTENT_TYPE_WRONG\` 415.

| name | route | role | what | takes | gives | problems |
|---|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

function bodyFields(schema: Schema): string {
	const choices = schema.oneOf ?? schema.anyOf;
	if (choices !== undefined) return choices.map(bodyFields).join(" or ");
	return Object.keys(schema.properties ?? {})
		.map((field) => `\`${field}${(schema.required ?? []).includes(field) ? "" : "?"}\``)
		.join(" ");
}

if (process.argv[1] === import.meta.filename) writeFileSync(API_PAGE, apiPage());
