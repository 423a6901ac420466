// What is proven of a job that is paid by proof, docs/zk.md §12: segment by segment, by whom, for how much
// gas; and each proof as a file, to verify here or elsewhere. All of it stands on chain.
import { powersOfChain } from "../../src/protocol/proof-powers.ts";
import { formatCount, formatExactMoney } from "../parts/format.ts";
import { Failed, IdCell, Panel, Table } from "../parts/small.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";

const PER_MICRO = 10n ** 12n;
const micros = (amount: string): number => Number(BigInt(amount) / PER_MICRO);

export function ProofsPanel({ id, chainId }: { id: string; chainId: number | null }) {
	const loaded = useLoaded(`proofs ${id}`, (signal) => api.listJobProofs({ params: { id } }, { signal }));
	useReloadOn(({ kind, subject }) => kind === "job.proven" && subject === id, loaded.reload, 1000);
	if (loaded.value === null) return loaded.trouble && <Failed trouble={loaded.trouble} again={loaded.reload} />;
	const { segments, proofs } = loaded.value;
	const gas = proofs.reduce((sum, one) => sum + one.gas, 0);
	const head = [["Segment", "num"], "Prover", ["Paid", "num"], ["Gas", "num"], "Transaction", "Proof"] as const;
	return (
		<Panel
			title="Proofs"
			aside={
				<>
					{formatCount(proofs.length)} of {formatCount(segments)} segments proven
					{chainId === null ? "" : ` over ${powersOfChain(chainId)}`}, {formatCount(gas)} gas;{" "}
					<a href="/verify">verify one here</a>
				</>
			}
		>
			<progress aria-label="Segments proven" max={segments} value={proofs.length} />
			<Table label="Proven segments of the job" head={head} none="Nothing is proven yet">
				{proofs.map((one) => (
					<tr key={one.segment} data-proof={one.segment}>
						<td class="num">{formatCount(one.segment)}</td>
						<IdCell id={one.prover} />
						<td class="num">{formatExactMoney(micros(one.amount))}</td>
						<td class="num">{formatCount(one.gas)}</td>
						<IdCell id={one.transaction} />
						<td>
							<a href={`/v1/jobs/${id}/proofs/${one.segment}`} download={`segment-${one.segment}.proof`}>
								Download
							</a>
						</td>
					</tr>
				))}
			</Table>
		</Panel>
	);
}
