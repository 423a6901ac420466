// Which confidential guests are allowed (docs/attestation.md): an operator's list, by what the CPU measured of each. A TD is named by its firmware
// (MRTD) and by its four registers, for the firmware alone would boot any kernel; an SNP guest by its launch measurement. Reading the list is here,
// what a guest is asked beside it in guest.ts.

export interface GuestRule {
	/** For people. */
	readonly name: string;
	/** Null: any, by the measurement alone. */
	readonly tee: "tdx" | "snp" | null;
	/** MRTD, MRENCLAVE or SNP measurement, in hex. */
	readonly measurement: string;
	/** RTMR 0 to 3 of a TD, in hex; one that is null may be any. Null: all of them. */
	readonly registers: readonly (string | null)[] | null;
}

/** As a good signature covers it. */
export interface MeasuredGuest {
	readonly tee: string;
	readonly measurement: string;
	/** Of a TD. */
	readonly registers: readonly string[];
}

/** The first that names it; null: none does. */
export const ruleFor = (rules: readonly GuestRule[], guest: MeasuredGuest): GuestRule | null =>
	rules.find(
		({ tee, measurement, registers }) =>
			(tee === null || tee === guest.tee) &&
			measurement === guest.measurement &&
			(registers === null || registers.every((one, i) => one === null || one === guest.registers[i])),
	) ?? null;

/** Of `--guest HEX`. */
export const ruleOfMeasurement = (measurement: string): GuestRule => ({
	...{ name: measurement.slice(0, 16), tee: null, registers: null },
	measurement,
});

const MOST_RULES = 1024;
const DIGEST = /^[0-9a-f]{96}$/;

/** The list of a file, or what is wrong with it, in words. Measurements of 48 bytes in lower-case hex. */
export function readGuestRules(text: string): readonly GuestRule[] | string {
	let file: unknown;
	try {
		file = JSON.parse(text);
	} catch {
		return "it is not JSON";
	}
	const { version, guests, ...more } = isRecord(file) ? file : {};
	if (version !== 1 || !Array.isArray(guests) || Object.keys(more).length > 0)
		return 'it is not {"version": 1, "guests": [ … ]}';
	if (guests.length === 0) return "it names no guest: leave the list out to allow none";
	if (guests.length > MOST_RULES) return `it names more than ${MOST_RULES} guests`;
	const rules: GuestRule[] = [];
	for (const [i, one] of guests.entries()) {
		const rule = readRule(one);
		if (typeof rule === "string") return `guests[${i}]: ${rule}`;
		rules.push(rule);
	}
	return rules;
}

function readRule(one: unknown): GuestRule | string {
	if (!isRecord(one)) return "it is not an object";
	const { name, tee, measurement, mrtd, rtmr, ...more } = one;
	const [unknown] = Object.keys(more);
	if (unknown !== undefined) return `'${unknown.slice(0, 40)}' is not known`;
	if (typeof name !== "string" || name === "" || name.length > 100) return "name must be 1 to 100 characters";
	if (tee === "snp") {
		if (mrtd !== undefined || rtmr !== undefined) return "mrtd and rtmr are a TD's";
		return isDigest(measurement)
			? { name, tee, measurement, registers: null }
			: "measurement must be 48 bytes of lower-case hex";
	}
	if (tee !== "tdx") return "tee must be tdx or snp";
	if (measurement !== undefined) return "measurement is an SNP guest's; a TD has mrtd and rtmr";
	if (!isDigest(mrtd)) return "mrtd must be 48 bytes of lower-case hex";
	const isFour = Array.isArray(rtmr) && rtmr.length === 4 && rtmr.every((each) => each === null || isDigest(each));
	// ATTACK: a list that leaves them out by mistake would let any kernel behind this firmware relay.
	return isFour
		? { name, tee, measurement: mrtd, registers: rtmr as (string | null)[] }
		: "rtmr must be the four registers, 48 bytes of lower-case hex each, or null where any will do";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
const isDigest = (value: unknown): value is string => typeof value === "string" && DIGEST.test(value);
