// Which confidential guests are allowed (docs/attestation.md): an operator's list, by what the CPU measured
// of each. A TD is named by its firmware (MRTD) and by its four registers, for the firmware alone would boot
// any kernel; an SNP guest by its launch measurement; one of Azure by that of Microsoft's paravisor and the
// registers of its virtual TPM. Reading the list is here, what a guest is asked beside it in guest.ts.

export interface GuestRule {
	/** For people. */
	readonly name: string;
	/** Null: any but Azure's, by the measurement alone. */
	readonly tee: "tdx" | "snp" | "azure-snp" | null;
	/** MRTD, MRENCLAVE or SNP measurement, in hex. */
	readonly measurement: string;
	/**
	 * RTMR 0 to 3 of a TD, PCR 0 to 23 of Azure's TPM, in hex; one that is null may be any. Null: all of them.
	 */
	readonly registers: readonly (string | null)[] | null;
}

/** As a good signature covers it. */
export interface MeasuredGuest {
	readonly tee: string;
	readonly measurement: string;
	/** Of a TD, or of Azure's TPM; null: not signed. */
	readonly registers: readonly (string | null)[];
}

/** The first that names it; null: none does. */
export const ruleFor = (rules: readonly GuestRule[], guest: MeasuredGuest): GuestRule | null =>
	rules.find(
		({ tee, measurement, registers }) =>
			// ATTACK: Azure's measurement is Microsoft's, the same of every customer's guest.
			(tee === guest.tee || (tee === null && !guest.tee.startsWith("azure-"))) &&
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
const PCR = /^[0-9a-f]{64}$/;
const PCRS = 24;

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
	const { name, tee, measurement, mrtd, rtmr, pcrs, ...more } = one;
	const [unknown] = Object.keys(more);
	if (unknown !== undefined) return `'${unknown.slice(0, 40)}' is not known`;
	if (typeof name !== "string" || name === "" || name.length > 100) return "name must be 1 to 100 characters";
	if (pcrs !== undefined && tee !== "azure-snp") return "pcrs are those of an azure-snp guest";
	if (tee === "snp" || tee === "azure-snp") {
		if (mrtd !== undefined || rtmr !== undefined) return "mrtd and rtmr are a TD's";
		if (!isDigest(measurement)) return "measurement must be 48 bytes of lower-case hex";
		if (tee === "snp") return { name, tee, measurement, registers: null };
		// ATTACK: without them any kernel behind Microsoft's paravisor could relay.
		return isListOf(pcrs, PCRS, PCR)
			? { name, tee, measurement, registers: pcrs }
			: "pcrs must be the 24 registers, 32 bytes of lower-case hex each, or null where any will do";
	}
	if (tee !== "tdx") return "tee must be tdx, snp or azure-snp";
	if (measurement !== undefined) return "measurement is an SNP guest's; a TD has mrtd and rtmr";
	if (!isDigest(mrtd)) return "mrtd must be 48 bytes of lower-case hex";
	// ATTACK: a list that leaves them out by mistake would let any kernel behind this firmware relay.
	return isListOf(rtmr, 4, DIGEST)
		? { name, tee, measurement: mrtd, registers: rtmr }
		: "rtmr must be the four registers, 48 bytes of lower-case hex each, or null where any will do";
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
const isListOf = (value: unknown, length: number, of: RegExp): value is (string | null)[] =>
	Array.isArray(value) &&
	value.length === length &&
	value.every((each) => each === null || (typeof each === "string" && of.test(each)));
const isDigest = (value: unknown): value is string => typeof value === "string" && DIGEST.test(value);
