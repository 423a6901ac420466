// Jobs that were accepted and perhaps paid for here, and that the validator was not seen to have: the page
// was closed in between, or the network was away. They are handed in again from here, and the validator takes
// the same offer once; or their money is taken back. None is forgotten while there may be money in it.
import { useEffect, useState } from "preact/hooks";
import { Failed, Id, Panel } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { api, type Trouble, troubleOf } from "../../shell/api.ts";
import { goTo } from "../../shell/router.ts";
import { forgetJob, keepJob, pendingJobs } from "../work/kept-jobs.ts";
import { cancelJob, openWallet } from "../work/wallet.ts";

type Pending = Awaited<ReturnType<typeof pendingJobs>>[number];

/** What was answered to attempts at a job shows that there is no money in it. */
const isUnpaid = (answers: readonly string[] = []): boolean =>
	answers.includes("JOB_UNFUNDED") || (answers.includes("JOB_OFFER_EXPIRED") && answers.includes("CHAIN_REFUSED"));

export function PendingJobs({ customer }: { customer: Customer }) {
	const [jobs, setJobs] = useState<readonly Pending[]>([]);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const [answers, setAnswers] = useState<Readonly<Record<string, readonly string[]>>>({});
	const load = () => void pendingJobs().then(setJobs);
	useEffect(load, []);
	if (jobs.length === 0) return null;
	const attempt = async ({ id }: Pending, act: () => Promise<void>) => {
		setTrouble(null);
		try {
			await act();
		} catch (error) {
			const trouble = troubleOf(error);
			setAnswers((before) => ({ ...before, [id]: [...(before[id] ?? []), trouble.code] }));
			setTrouble(trouble);
		}
	};
	const forget = (job: Pending) => forgetJob(job.id).then(load);
	const handIn = async (job: Pending) => {
		await customer.client.submitJob({ body: job.pending as never });
		await keepJob({ ...job, pending: null });
		goTo(`/jobs/${job.id}`);
	};
	const takeBack = async (job: Pending) => {
		const { chain } = await api.getChain();
		await cancelJob(await openWallet(chain!, customer.client), job.pending.offer.escrow!);
		await forget(job);
	};
	return (
		<Panel title="Accepted, but not handed in" aside="this page was left in between">
			{trouble === null ? null : <Failed trouble={trouble} />}
			<ul>
				{jobs.map((job) => (
					<li key={job.id} class="bar">
						<span class="grow">
							{job.title} <Id id={job.id} />
						</span>
						<button type="button" class="primary" onClick={() => void attempt(job, () => handIn(job))}>
							Hand it in
						</button>
						{job.pending.offer.escrow === null || isUnpaid(answers[job.id]) ? (
							<button type="button" onClick={() => void forget(job)}>
								Forget it
							</button>
						) : (
							<button type="button" onClick={() => void attempt(job, () => takeBack(job))}>
								Take the money back
							</button>
						)}
					</li>
				))}
			</ul>
		</Panel>
	);
}
