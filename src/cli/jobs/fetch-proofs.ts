// `assay job proofs ID`: who proved the segments of a zk job, and each proof as a file, made of what stands
// on chain. What is fetched is judged by `assay verify`, not here. docs/zk.md §12. Each proof names its
// prover; that one goes on where another ended, `assay verify FOLDER` sees as the chain has seen it.
import { join, resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { isEmbeddedChainId } from "../../protocol/chain/embedded-chain-id.ts";
import { powersOfChain } from "../../protocol/proof-powers.ts";
import { type apiOptions, askApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { writeNamedFile } from "../evidence-file.ts";
import { findJob } from "../find-by-name.ts";
import type { Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { left, right, shortId, table } from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";

type ProofsValues = Values<typeof apiOptions> & { readonly out: string | undefined };
type Proof = Awaited<ReturnType<ApiClient["listJobProofs"]>>["proofs"][number];

const columns = [
	right<Proof>("segment", ({ segment }) => String(segment)),
	left<Proof>("prover", ({ prover }) => prover),
	right<Proof>("tokens", ({ amount }) => formatTokens(BigInt(amount))),
	right<Proof>("gas", ({ gas }) => gas.toLocaleString("en")),
	left<Proof>("transaction", ({ transaction }) => shortId(transaction.slice(2))),
];

export async function fetchProofs(values: ProofsValues, io: CliIo, given: string): Promise<number> {
	const fetched = await askApi(
		values,
		io,
		async (client) => {
			const { id, spec, offer } = await findJob(client, given);
			const { segments, proofs } = await client.listJobProofs({ params: { id } });
			const folder = resolve(io.cwd, values.out ?? `${spec.title}.proofs`);
			if (proofs.length > 0) await makeFolder(folder);
			for (const { segment } of proofs) {
				const bytes = await client.getJobProof({ params: { id, segment } });
				writeNamedFile(join(folder, `segment-${segment}.proof`), bytes, "--out FOLDER");
			}
			const chainId = offer.escrow?.chainId ?? 0;
			return { id, folder, segments, proofs, isDev: isEmbeddedChainId(chainId), powers: powersOfChain(chainId) };
		},
		"customer",
	);
	return printResult(values, io, fetched, (paint) => text(fetched, paint));
}

interface Fetched {
	readonly folder: string;
	readonly segments: number;
	readonly proofs: readonly Proof[];
	readonly isDev: boolean;
	/** In words. */
	readonly powers: string;
}

function text({ folder, segments, proofs, isDev, powers }: Fetched, paint: Paint): string {
	const gas = proofs.reduce((sum, one) => sum + one.gas, 0);
	const told = [
		`  ${proofs.length} of ${segments} segments are proven over ${powers}, ${gas.toLocaleString("en")} gas`,
		paint.dim(`  anyone checks them: assay verify ${folder}${isDev ? " --dev" : ""}`),
	];
	return [table(columns, proofs, paint, "nothing is proven yet"), ...(proofs.length > 0 ? told : []), ""].join("\n");
}
