// `assay tokens`: lists, creates and revokes API tokens, for admins.
import type { ApiClient } from "../../api/create-client.ts";
import type { Token } from "../../api/types.ts";
import { ROLES } from "../../protocol/network/role.ts";
import { apiOptions, askApi } from "../api-connection.ts";
import { type CliIo, command } from "../command.ts";
import { findToken } from "../find-by-name.ts";
import { number, text, usageError, type Values } from "../options.ts";
import { printResult } from "../print/print-result.ts";
import { type Column, formatAgo, left, orNull, right, shortId, shown, table } from "../print/table.ts";

function columns(nowMs: number): readonly Column<Token>[] {
	return [
		left("id", ({ id }) => id),
		left("name", ({ name }) => shown(name)),
		left("role", ({ role }) => role),
		left("for", ({ subject }) => orNull(subject, shortId)),
		right("made", ({ createdAtMs }) => formatAgo(createdAtMs, nowMs)),
		right("ends", ({ expiresAtMs }) => orNull(expiresAtMs, (atMs) => formatAgo(atMs, nowMs))),
		left("", ({ revokedAtMs }) => orNull(revokedAtMs, () => "revoked")),
	];
}

const options = {
	role: text("ROLE", ROLES.join(", ")),
	subject: text("KEY", "the provider, customer or validator that it acts for (64 hex digits)"),
	days: number("N", "days until it expires (default: never)", [0.001, 36_500]),
	...apiOptions,
};

export const tokensCommand = command({
	name: "tokens",
	about: "Needs an admin token: that of the local network, or ASSAY_TOKEN. A new token's secret is shown once.",
	options,
	exits: { 67: "no such token", 69: "no answer", 77: "refused" },
	verbs: {
		"": {
			run: (values, io) =>
				tokens(values, io, async (client) => {
					const all: Token[] = [];
					for await (const row of client.rows("listTokens", { query: { limit: 500 } })) all.push(row);
					return all;
				}),
		},
		add: { takes: "NAME", needs: "--role ROLE", does: "create a token", run: add },
		revoke: {
			takes: "TOKEN",
			does: "revoke a token, by its id or the beginning of it",
			run: (values, io, id) =>
				tokens(values, io, async (client) => [
					await client.revokeToken({ params: { id: (await findToken(client, id!)).id } }),
				]),
		},
	},
});

async function add(values: Values<typeof options>, io: CliIo, name: string): Promise<number> {
	const role = ROLES.find((one) => one === values.role);
	if (role === undefined) throw usageError(`--role takes ${ROLES.join(", ")}`);
	const expiresAtMs = values.days === undefined ? null : Date.now() + Math.floor(values.days * 86_400_000);
	const body = { name, role, subject: values.subject ?? null, expiresAtMs };
	const made = await askApi(values, io, (client) => client.makeToken({ body }));
	if (!values.json)
		io.err.write(`token ${made.token.id}, ${made.token.role}: save the next line, it is not shown again\n`);
	return printResult(values, io, made, () => `${made.secret}\n`);
}

async function tokens(
	values: Values<typeof options>,
	io: CliIo,
	read: (client: ApiClient) => Promise<Token[]>,
): Promise<number> {
	const rows = await askApi(values, io, read);
	return printResult(values, io, { rows }, (paint) => `${table(columns(Date.now()), rows, paint)}\n`);
}
