// Jobs: the list of whoever is signed in here, a new one, and any one by its number.
import { useState } from "preact/hooks";
import { JobList } from "../jobs/job-list.tsx";
import { NewJob } from "../jobs/new/new-job.tsx";
import { JobPage } from "../jobs/view/job-page.tsx";
import { Empty, PageTitle } from "../parts/small.tsx";
import { type Customer, loadCustomer } from "../rent/rental-key.ts";
import type { PageProps } from "../shell/shell.tsx";

export default function JobsPage({ place }: PageProps) {
	const [customer, setCustomer] = useState<Customer | null>(loadCustomer);
	const onSignIn = () => setCustomer(loadCustomer());
	const id = place.parts[1];
	if (id === undefined) return <JobList key="list" {...{ place, customer, onSignIn }} />;
	if (id === "new") return <NewJob key="new" {...{ customer, onSignIn }} />;
	if (/^[0-9a-f]{64}$/.test(id)) return <JobPage key={id} id={id} customer={customer} />;
	return (
		<>
			<PageTitle>No such job</PageTitle>
			<Empty title="A job has a number of 64 hex digits">
				<a href="/jobs">All jobs</a>
			</Empty>
		</>
	);
}
