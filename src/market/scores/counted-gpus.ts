// Which GPUs of a proof count, and how often: each UUID once, and none that counts for another provider. The
// order of devices plays no part in it, nor do claims: who claims a device without figures has a device worth
// 0.
import type { Term } from "./explanation.ts";
import type { Proof } from "./score-input.ts";

/** UUIDs are what hosts say; case and blanks do not make another device. */
export function normalUuid(uuid: string): string {
	return uuid.trim().toLowerCase();
}

/** Best first. Of several with one UUID the least valued counts. */
export function countedGpus(
	{ devices }: Proof,
	creditedElsewhere: readonly string[],
	termOf: (device: number) => Term,
): Term[] {
	const elsewhere = new Set(creditedElsewhere.map(normalUuid));
	const byUuid = new Map<string, Term>();
	for (const [device, { kind, uuid }] of devices.entries()) {
		const name = normalUuid(uuid);
		if (kind !== "gpu" || elsewhere.has(name)) continue;
		const value = termOf(device);
		const before = byUuid.get(name);
		if (before === undefined || value.value < before.value) byUuid.set(name, value);
	}
	return [...byUuid.values()].sort((a, b) => b.value - a.value);
}
