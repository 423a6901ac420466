// A customer's rentals: the way in while they run, the time that is left, longer or released; afterwards what
// they cost and why they ended.
import { useState } from "preact/hooks";
import type { Rental } from "../../src/api/types.ts";
import { formatLeft, formatMoney } from "../parts/format.ts";
import { CopyButton, Failed, Id, Panel, Pending, Time } from "../parts/small.tsx";
import { type Trouble, troubleOf, useLoaded, useNow, useReloadOn } from "../shell/api.ts";
import type { Customer } from "./rental-key.ts";
import { sshCommand } from "./ssh-command.ts";

const HOUR_MS = 3_600_000;
const ENDS = { released: "released", expired: "its time was up", failed: "the host failed" } as const;

export function RentalsPanel({ customer }: { customer: Customer }) {
	const rentals = useLoaded(`rentals ${customer.kind} ${customer.key}`, (signal) =>
		customer.client.listRentals({ query: { limit: 20 } }, { signal }),
	);
	const [refused, setRefused] = useState<Trouble | null>(null);
	const again = () => {
		setRefused(null);
		rentals.reload();
	};
	useReloadOn(({ kind }) => kind.startsWith("rental."), again);
	if (rentals.value === null) return <Pending of={rentals} what="your rentals" lines={2} />;
	const { rows } = rentals.value;
	if (rows.length === 0) return null;
	const trouble = refused ?? rentals.trouble;
	const act = (work: Promise<unknown>) => work.then(again, (error) => setRefused(troubleOf(error)));
	return (
		<Panel title="Your rentals">
			{trouble === null ? null : <Failed trouble={trouble} again={again} />}
			<ul class="rentals">
				{rows.map((rental) => (
					<RentalRow
						key={rental.id}
						rental={rental}
						onRelease={() => act(customer.client.releaseRental({ params: { id: rental.id } }))}
						onExtend={() =>
							act(customer.client.extendRental({ params: { id: rental.id }, body: { durationMs: HOUR_MS } }))
						}
					/>
				))}
			</ul>
		</Panel>
	);
}

function RentalRow({ rental, onRelease, onExtend }: { rental: Rental; onRelease: () => void; onExtend: () => void }) {
	const now = useNow();
	const isOpen = rental.state === "reserved" || rental.state === "active";
	const command = rental.access === null ? null : sshCommand(rental.access);
	const leftMs = rental.untilMs - now;
	const name = rental.id.slice(0, 12);
	return (
		<li class="rental" data-rental={rental.state}>
			<h3>
				<Id id={rental.id} /> on <Id id={rental.providerId} href={`/providers/${rental.providerId}`} label="Provider" />{" "}
				<span class={isOpen ? "badge is-running" : "badge"}>{rental.state}</span>
			</h3>
			{isOpen ? (
				<>
					<p>
						{leftMs > 0 ? (
							<>
								<strong class="num rental-left">{formatLeft(leftMs)}</strong> left,{" "}
								{formatMoney(rental.pricePerHourMicros)} an hour, until <Time atMs={rental.untilMs} />
							</>
						) : (
							<span class="unsure">Its time is up: the host is being taken back</span>
						)}
					</p>
					<progress
						aria-label={`Time left of rental ${name}`}
						max={Math.max(1, rental.untilMs - rental.reservedAtMs)}
						value={Math.max(0, leftMs)}
					/>
					{command === null ? (
						<p class="dim">
							{rental.access === null
								? "The way in appears here as soon as the host has made it."
								: "The host's address is not one that belongs into a shell: ask the provider."}
						</p>
					) : (
						<div class="bar">
							<pre class="grow">{command}</pre>
							<CopyButton text={command} label="Copy command" />
						</div>
					)}
					{rental.access === null ? null : (
						<details>
							<summary>Host key, to compare at the first connection</summary>
							<pre>{rental.access.hostKey}</pre>
						</details>
					)}
					<div class="bar">
						<button type="button" class="small" onClick={onExtend}>
							One hour more
						</button>
						<button type="button" class="small" onClick={onRelease}>
							Release
						</button>
					</div>
				</>
			) : (
				<p class="dim">
					{rental.endReason === null ? "" : `${ENDS[rental.endReason]} `}
					<Time atMs={rental.endedAtMs} never="" />
					{rental.endReason === null ? "" : ": "}charged {formatMoney(rental.chargedMicros ?? 0)}, back{" "}
					{formatMoney(rental.refundMicros ?? 0)} {rental.detail ?? ""}
				</p>
			)}
		</li>
	);
}
