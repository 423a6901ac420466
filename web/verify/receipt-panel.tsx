// A receipt of a zkVM: which program it names and what values it gave. The judging is in verifier-worker.ts.
import type { ReceiptVerdict } from "../../src/verify/receipts/verdict.ts";
import { Empty, Fact } from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import { VerdictLine } from "./use-judged.tsx";
import type { VerifiedFile } from "./verify-in-worker.ts";

export function ReceiptPanel({
	file,
	judged: { verdict, tookMs },
}: {
	file: VerifiedFile;
	judged: { readonly verdict: ReceiptVerdict; readonly tookMs: number };
}) {
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<VerdictLine verdict={verdict} file={file} tookMs={tookMs} />
			{verdict.status === "valid" ? (
				<>
					<p>
						A program ran to its end and gave these public values. Any program is accepted here: compare its name with
						the one that you mean, or use <code>assay verify FILE --program ID</code>.
					</p>
					<dl class="facts">
						<Fact name="Proof" isWide>
							{verdict.system}, {verdict.release}
						</Fact>
						<Fact name="Program" isWide>
							<code class="id">{verdict.program}</code>
						</Fact>
						<Fact name={`Values, ${verdict.values.length / 2} bytes`} isWide>
							<code class="id">{verdict.values === "" ? "none" : verdict.values}</code>
						</Fact>
					</dl>
					<FindingList findings={verdict.findings} />
				</>
			) : (
				<Empty title={verdict.detail} />
			)}
		</div>
	);
}
