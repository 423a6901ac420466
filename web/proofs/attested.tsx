// Which cards answered, signed by the cards (docs/attestation.md): a badge for lists, a panel for one host or
// probe.
import type { Attestation } from "../../src/api/types.ts";
import { type CountedAttestation, unreadAttestation } from "../../src/protocol/probe/verdict.ts";
import { shortId } from "../parts/format.ts";
import { Badge, exactTime, Id, IdCell, Panel, Table } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import { FindingList } from "./figure-list.tsx";

const SHOWS = {
	none: "no device signed",
	genuine: "devices of the vendor signed this probe's nonce",
	measured: "devices of the vendor signed, and their firmware is the vendor's",
	hosted: "devices of the vendor signed, named by an allowed confidential guest",
} as const;

/** Nothing where nothing was shown. */
export function AttestedBadge({ of }: { of: Pick<CountedAttestation, "shown" | "isSimulated" | "elsewhere"> | null }) {
	if (of === null || of.shown === "none") return null;
	const isElsewhere = of.elsewhere.length > 0;
	const tone = isElsewhere ? "inconclusive" : of.isSimulated ? "none" : "valid";
	const why = isElsewhere ? "a device counts for another provider" : SHOWS[of.shown];
	return (
		<Badge tone={tone} title={of.isSimulated ? `simulated, counts for nothing: ${why}` : why}>
			<span>{isElsewhere ? "relayed?" : of.shown}</span>
			{of.isSimulated ? <span class="badge-code">simulated</span> : null}
		</Badge>
	);
}

/** Where only the provider's id is at hand. */
export function AttestedOf({ id }: { id: string }) {
	const provider = useLoaded(id, (signal) => api.getProvider({ params: { id } }, { signal }));
	return <AttestedBadge of={provider.value?.attestation ?? null} />;
}

function nothingShown(of: CountedAttestation): string {
	const unread = unreadAttestation(of);
	if (unread !== null) return `It cannot be told what this host's devices signed: ${unread.detail}.`;
	if (of.devices.length === 0) return "No device of this host signed a report.";
	return "This host has no level, for the first reason below.";
}

export function AttestedPanel({ of }: { of: Attestation | null }) {
	if (of === null) return null;
	return (
		<Panel
			title="Attestation"
			aside={
				of.level === "none" ? "signed by the cards; in no score" : "signed by the cards; a small factor of the score"
			}
		>
			<AttestedFacts of={of} hasApi />
		</Panel>
	);
}

/** What the devices signed, and how it was judged. `hasApi`: this validator judged it. */
export function AttestedFacts({ of, hasApi = false }: { of: CountedAttestation; hasApi?: boolean }) {
	const { devices, guest, reasons, says, elsewhere, isSimulated, policy = null } = of;
	return (
		<div class="attested" data-level={of.level}>
			<p>
				{of.shown === "none" ? nothingShown(of) : <AttestedBadge of={of} />}{" "}
				{isSimulated ? "Signed under roots of a test, which anybody can sign under: it counts for nothing." : ""}
			</p>
			{elsewhere.map(({ key, providerId }) => (
				<p key={key} class="unsure" role="note">
					⚠ The device {shortId(key)} counts for{" "}
					<Id id={providerId} href={`/providers/${providerId}`} label="Provider" />, which showed it first or has it on
					the chain. A card counts for one provider, so the level here is none.
				</p>
			))}
			{devices.length === 0 ? null : (
				<Table label="Attested devices" head={["Device key", "Chip", "Driver", "Firmware", "Level"]}>
					{devices.map((one) => (
						<tr key={one.key}>
							<IdCell id={one.key} />
							<td>
								{one.kind === "switch" ? "switch " : ""}
								{one.chip}
							</td>
							<td>{one.driver ?? "–"}</td>
							<td>{one.firmware ?? "–"}</td>
							<td>{isSimulated ? `${one.level}, simulated` : one.level}</td>
						</tr>
					))}
				</Table>
			)}
			{guest === null ? null : (
				<p>
					Named by a guest ({guest.tee}), measurement <Id id={guest.measurement} />
					{guest.tcb === null ? "" : `, platform ${guest.tcb}`}.
				</p>
			)}
			<FindingList findings={reasons} />
			{says.length === 0 ? null : (
				<ul class="findings">
					{says.map((one) => (
						<li key={one}>The host says: {one}</li>
					))}
				</ul>
			)}
			{policy === null ? null : (
				<p class="dim small-text">
					Judged as of {exactTime(policy.atMs)} by policy <Id id={policy.hash} />
					{hasApi ? (
						<>
							; <a href="/v1/attestation-policy">this validator's</a>
						</>
					) : null}
					.
				</p>
			)}
		</div>
	);
}
