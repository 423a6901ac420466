// `assay dispute list`: claims that stand, and fraud files against claims. Asks the validator alone: the
// chain's client is not loaded for it.
import type { ApiClient } from "../../api/create-client.ts";
import type { ClaimOfJob as Claim } from "../../api/types.ts";
import { type apiOptions, askApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import type { Values } from "../options.ts";
import { printResult } from "../print/print-result.ts";
import { left, right, shortId, table } from "../print/table.ts";

const LIMIT = 100;

type Fraud = Awaited<ReturnType<ApiClient["listFrauds"]>>["rows"][number];

export const when = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19).replace("T", " ");

const claimColumns = [
	left<Claim>("claim", ({ hash }) => shortId(hash)),
	left<Claim>("state", ({ state }) => state),
	left<Claim>("job", ({ job }) => shortId(job)),
	right<Claim>("part", ({ part }) => String(part)),
	left<Claim>("provider", ({ provider }) => shortId(provider)),
	left<Claim>("claimed", ({ atMs }) => when(atMs)),
];
const fraudColumns = [
	left<Fraud>("fraud file", ({ hash }) => shortId(hash)),
	left<Fraud>("claim", ({ claim }) => shortId(claim)),
	left<Fraud>("accused", ({ accused }) => shortId(accused)),
	left<Fraud>("found", ({ atMs }) => when(atMs)),
];

export async function listDisputes(values: Values<typeof apiOptions>, io: CliIo): Promise<number> {
	const [claims, frauds] = await askApi(
		values,
		io,
		async (client) => {
			const standing = async (state: "claimed" | "checked") =>
				(await client.listClaims({ query: { state, limit: LIMIT } })).rows;
			const found = await client.listFrauds({ query: { limit: LIMIT } });
			return [[...(await standing("claimed")), ...(await standing("checked"))], found.rows] as const;
		},
		"customer",
	);
	return printResult(values, io, { claims, frauds }, (paint) =>
		[
			table(claimColumns, claims, paint, "no claim stands"),
			"",
			table(fraudColumns, frauds, paint, "no fraud files"),
			"",
		].join("\n"),
	);
}
