// A fraud file: whether it convicts, whom, and by which number. The judging is in verifier-worker.ts.
import type { FraudStory } from "../../src/verify/optimistic/fraud/explain-fraud.ts";
import { FRAUD_SHOWS, type FraudVerdict, fraudPlace } from "../../src/verify/optimistic/fraud/fraud-verdict.ts";
import { FraudStoryView, SaidAndRight } from "../disputes/fraud-story.tsx";
import { Empty, Fact, IdFact } from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import { VerdictLine } from "./use-judged.tsx";
import type { VerifiedFile } from "./verify-in-worker.ts";

export function FraudPanel({
	file,
	judged: { verdict, story, tookMs },
}: {
	file: VerifiedFile;
	judged: { readonly verdict: FraudVerdict; readonly story: FraudStory | null; readonly tookMs: number };
}) {
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<VerdictLine verdict={verdict} file={file} tookMs={tookMs} verb="judged" />
			{verdict.status === "valid" ? (
				<>
					<dl class="facts">
						<Fact name="Fraud" isWide>
							{FRAUD_SHOWS[verdict.kind]}
						</Fact>
						<IdFact name="Claim" id={verdict.accused} />
						<Fact name="Place" isWide>
							{fraudPlace(verdict)}
						</Fact>
						{verdict.signer !== null && (
							<Fact name="Signed by" isWide>
								<code>0x{verdict.signer}</code>
							</Fact>
						)}
					</dl>
					<FindingList findings={verdict.findings} />
					{story === null ? <SaidAndRight verdict={verdict} /> : <FraudStoryView story={story} />}
				</>
			) : (
				<Empty title={verdict.detail}>
					<code>{verdict.where}</code>
				</Empty>
			)}
		</div>
	);
}
