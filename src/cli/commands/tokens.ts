// `assay tokens`: an admin's list of API tokens, new ones, and those that are to end.
import type { Token, TokenRole } from "../../api/types.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import type { Command } from "../command.ts";
import { findToken } from "../find-by-name.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { showOrWatch } from "../print/show-or-watch.ts";
import { type Column, formatAgo, shortId, shown, table } from "../print/table.ts";

const ROLES = ["reader", "customer", "provider", "validator", "admin"] as const;

function columns(nowMs: number): readonly Column<Token>[] {
	return [
		{ title: "id", cell: ({ id }) => id },
		{ title: "name", cell: ({ name }) => shown(name) },
		{ title: "role", cell: ({ role }) => role },
		{ title: "for", cell: ({ subject }) => (subject === null ? "" : shortId(subject)) },
		{ title: "made", right: true, cell: ({ createdAtMs }) => formatAgo(createdAtMs, nowMs) },
		{
			title: "ends",
			right: true,
			cell: ({ expiresAtMs }) => (expiresAtMs === null ? "" : formatAgo(expiresAtMs, nowMs)),
		},
		{ title: "", cell: ({ revokedAtMs }) => (revokedAtMs === null ? "" : "revoked") },
	];
}

export const tokensCommand: Command = {
	name: "tokens",
	summary: "API tokens: lists, makes and revokes them (admins)",
	help: `usage: assay tokens
       assay tokens add NAME --role ${ROLES.join("|")} [--subject KEY] [--days N]
       assay tokens revoke TOKEN

Needs an admin's token: the local network's own, or ASSAY_TOKEN. A new token's secret is shown once.

  --role ROLE       what it may do
  --subject KEY     the provider, customer or validator that it acts for (64 hex digits)
  --days N          until it ends (default: never)
${apiOptions.help}

exit codes: done 0, usage 64, no such token 67, nobody answers 69, refused 77`,

	async run(args, io) {
		const { values, positionals } = parseOptions(
			"tokens",
			args,
			{ ...apiOptions.options, role: { type: "string" }, subject: { type: "string" }, days: { type: "string" } },
			{ min: 0, max: 2 },
		);
		const [verb, name] = positionals;
		const role = values.role as TokenRole | undefined;
		if (verb !== undefined && verb !== "add" && verb !== "revoke")
			throw usageError(`tokens knows add and revoke, not '${verb}'`, "tokens");
		if (verb !== undefined && name === undefined) throw usageError(`tokens ${verb} needs a name`, "tokens");
		if (verb === "add" && (role === undefined || !ROLES.includes(role)))
			throw usageError(`--role takes ${ROLES.join(", ")}`, "tokens");
		const days = values.days === undefined ? null : numberOption("tokens", "days", values.days, 0.001, 36_500);
		const api = await openApi("tokens", values, io);
		if (verb === "add") {
			const body = {
				name: name!,
				role: role!,
				subject: values.subject ?? null,
				expiresAtMs: days === null ? null : Date.now() + Math.floor(days * 86_400_000),
			};
			const made = await withApi(api, (client) => client.makeToken({ body }));
			io.out.write(values.json ? `${JSON.stringify(made, null, 2)}\n` : `${made.secret}\n`);
			if (!values.json)
				io.err.write(`token ${made.token.id}, ${made.token.role}: keep the line above, it is not shown again\n`);
			return 0;
		}
		return showOrWatch("tokens", values, io, async () => {
			const rows = await withApi(api, async (client) => {
				if (verb === "revoke")
					return [await client.revokeToken({ params: { id: (await findToken(client, name!)).id } })];
				const all: Token[] = [];
				for await (const row of client.rows("listTokens", { query: { limit: 500 } })) all.push(row);
				return all;
			});
			return { json: { rows }, text: (paint) => table(columns(Date.now()), rows, paint) };
		});
	},
};
