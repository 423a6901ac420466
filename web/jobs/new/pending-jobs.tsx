// Jobs that were accepted and perhaps paid for here, and that the validator was not seen to have: the page
// was closed in between, or the network was away. They are handed in again from here; the validator takes the
// same offer once.
import { useEffect, useState } from "preact/hooks";
import { Failed, Id, Panel } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { type Trouble, troubleOf } from "../../shell/api.ts";
import { goTo } from "../../shell/router.ts";
import { forgetJob, keepJob, pendingJobs } from "../work/kept-jobs.ts";

type Pending = Awaited<ReturnType<typeof pendingJobs>>[number];

export function PendingJobs({ customer }: { customer: Customer }) {
	const [jobs, setJobs] = useState<readonly Pending[]>([]);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const load = () => void pendingJobs().then(setJobs);
	useEffect(load, []);
	if (jobs.length === 0) return null;
	const handIn = async (job: Pending) => {
		setTrouble(null);
		try {
			await customer.client.submitJob({ body: job.pending as never });
			await keepJob({ ...job, pending: null });
			goTo(`/jobs/${job.id}`);
		} catch (error) {
			setTrouble(troubleOf(error));
		}
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
						<button type="button" class="primary" onClick={() => void handIn(job)}>
							Hand it in
						</button>
						<button type="button" onClick={() => void forgetJob(job.id).then(load)}>
							Forget it
						</button>
					</li>
				))}
			</ul>
		</Panel>
	);
}
