// How the room for what no job holds is shared, docs/jobs.md §12: who holds how much of it, and whose goes
// first when there is too little. Strangers of one address share one part, since keys are free; who has a job
// here has a part of its own that may be four times as large. The largest part gives way, so that nobody's
// does who holds less than whoever asks; within it, what was unused the longest.
//
// Providers at work are counted, and take nobody's part: what they hand in must not fail. Not here: files,
// and how much room there is (blob-store.ts).

/** A provider at work has a part to run, to hand in or to answer for. */
export type Standing = "stranger" | "customer" | "working";

/** Whom an upload is for, where it matters for its room. */
export interface Guest {
	/** Where it comes from, as the limits count addresses. */
	readonly from: string;
	readonly standing: Standing;
}

/** `bytes` as they were announced; `written`: of these, those on disk; `files`: inodes. */
export interface Room {
	readonly bytes: number;
	readonly written: number;
	readonly files: number;
}
export type Scarce = "bytes" | "files";

interface Part extends Room {
	bytes: number;
	written: number;
	files: number;
	/** By holder; the longest unused first. */
	readonly members: Map<string, Member>;
}

interface Member extends Room {
	bytes: number;
	written: number;
	files: number;
	group: string;
	usedMs: number;
}

/** What a customer's own part may be, as many times that of a stranger's address. */
const CUSTOMER_WEIGHT = 4;
const WORKING = "working";
/** Those that were here before this process began, and have not asked it for anything. */
const BEFORE = "from/";

const groupOf = (holder: string, from: string, standing: Standing): string =>
	standing === "working" ? WORKING : standing === "customer" ? `customer/${holder}` : `from/${from}`;
const weightOf = (group: string): number => (group.startsWith("customer/") ? CUSTOMER_WEIGHT : 1);
const NOTHING: Room = { bytes: 0, written: 0, files: 0 };

function change(room: { bytes: number; written: number; files: number }, by: Room, sign: 1 | -1): void {
	room.bytes += sign * by.bytes;
	room.written += sign * by.written;
	room.files += sign * by.files;
}

export function createGuestRoom() {
	const parts = new Map<string, Part>();
	const groups = new Map<string, string>();

	const memberOf = (holder: string): Member | undefined => parts.get(groups.get(holder) ?? "")?.members.get(holder);

	function leave(holder: string): Member | undefined {
		const member = memberOf(holder);
		if (member === undefined) return undefined;
		const part = parts.get(member.group)!;
		part.members.delete(holder);
		change(part, member, -1);
		if (part.members.size === 0) parts.delete(member.group);
		groups.delete(holder);
		return member;
	}

	/** As the one that was used last. */
	function join(holder: string, member: Member): void {
		const part: Part = parts.get(member.group) ?? { ...NOTHING, members: new Map() };
		parts.set(member.group, part);
		part.members.set(holder, member);
		change(part, member, 1);
		groups.set(holder, member.group);
	}

	return {
		/** It asks for something now. Without `guest` it stays in the part in which it was. */
		use(holder: string, usedMs: number, guest?: Guest): void {
			const member = leave(holder) ?? { ...NOTHING, group: BEFORE, usedMs };
			const group = guest === undefined ? member.group : groupOf(holder, guest.from, guest.standing);
			join(holder, { ...member, group, usedMs });
		},
		/** Adds to what it holds, or takes away. */
		add(holder: string, by: Room, sign: 1 | -1 = 1): void {
			const member = memberOf(holder);
			if (member === undefined) return;
			change(member, by, sign);
			change(parts.get(member.group)!, by, sign);
		},
		/** What was counted of it; it keeps its place among those of its part. */
		set(holder: string, { bytes, written, files }: Room, usedMs: number): void {
			const member = memberOf(holder);
			if (member === undefined) join(holder, { bytes, written, files, group: BEFORE, usedMs });
			else {
				change(parts.get(member.group)!, member, -1);
				Object.assign(member, { bytes, written, files });
				change(parts.get(member.group)!, member, 1);
			}
		},
		forget: (holder: string): void => void leave(holder),
		/** Those at work of whom nothing was heard since are at work no more. */
		endWork(beforeMs: number): void {
			for (const [holder, { usedMs }] of [...(parts.get(WORKING)?.members ?? [])])
				if (usedMs < beforeMs) join(holder, { ...leave(holder)!, group: BEFORE });
		},
		isWorking: (holder: string): boolean => groups.get(holder) === WORKING,
		holders: (): string[] => [...groups.keys()],
		of: (holder: string): Room => memberOf(holder) ?? NOTHING,
		/** Of all but those at work. */
		total(): Room {
			const sum = { ...NOTHING };
			for (const [group, part] of parts) if (group !== WORKING) change(sum, part, 1);
			return sum;
		},
		/**
		 * Who gives way so that `asker` gets `wanted`; null: nobody holds more than it would. `asker` null: one
		 * at work. `tried`: who had nothing to give.
		 *
		 * ATTACK: whoever has many keys at one address takes from itself alone, and with many addresses at most
		 * a part with each.
		 */
		whoGives(scarce: Scarce, asker: string | null, wanted: number, tried: ReadonlySet<string>): string | null {
			const own = asker === null ? WORKING : (groups.get(asker) ?? BEFORE);
			let [largest, most] = [own, 0];
			if (own !== WORKING) most = ((parts.get(own)?.[scarce] ?? 0) + wanted) / weightOf(own);
			for (const [group, part] of parts) {
				const held = part[scarce] / weightOf(group);
				if (group !== WORKING && group !== own && held > most) [largest, most] = [group, held];
			}
			if (largest === WORKING) return null;
			for (const [holder, member] of parts.get(largest)?.members ?? [])
				if (holder !== asker && !tried.has(holder) && member[scarce] > 0) return holder;
			return null;
		},
	};
}
