// Judges the devices of one round, several or one, as far as the vendors' files beside them go: each device
// by its own manifests and OCSP answers. The round shows what the lowest of its GPUs shows. A file that
// belongs to none of the devices is refused.
import type { Code } from "../../protocol/codes.ts";
import { Memory } from "./memory.ts";
import { readManifest } from "./nvidia/manifest.ts";
import { checkManifestsFit, isOf } from "./nvidia/measurements.ts";
import {
	checkGenuine,
	type DeviceEvidence,
	type DeviceQuestion,
	type GenuineDevice,
	verifyDevice,
} from "./nvidia/verify-device.ts";
import { verifyDeviceSet } from "./nvidia/verify-set.ts";
import type { AttestationSettings } from "./settings.ts";
import { type AttestationVerdict, type Hearing, hear, orDoubt, refuse } from "./verdict.ts";
import { answerAbout, readOcsp } from "./x509/ocsp.ts";
import { rememberSignatures } from "./x509/signature.ts";

type Question = Omit<DeviceQuestion, "chip">;

export function verifyDevices(
	devices: readonly DeviceEvidence[],
	question: Question,
	given: AttestationSettings,
): AttestationVerdict {
	if (devices.length === 1) return verifyDevice(devices[0]!, { ...question, chip: null }, given);
	const settings = { ...given, memory: new Memory(), verify: rememberSignatures(given.verify) };
	const set = verifyDeviceSet(() => devices, question.nonce, settings);
	const { ask, manifests, ocsp } = question;
	if (set.status === "invalid" || (ask === "genuine" && manifests.length + ocsp.length === 0)) return set;
	return hear((hearing) => {
		Object.assign(hearing.facts, set.facts);
		const files = filesOfEach(hearing, devices, question, settings);
		const measured = devices.map((device, i) => {
			const asked = { ...question, ...files[i]!, ask: askOf(device, files[i]!.manifests, devices, ask), chip: null };
			return told(hearing, verifyDevice(device, asked, settings), `devices[${i}].`).measurements ?? null;
		});
		if (ask === "measured") hearing.facts.measurements = measured;
		return ask;
	});
}

/** Whoever shows its switches must not stand below whoever hides them. */
const askOf = (
	{ kind }: DeviceEvidence,
	manifests: readonly Uint8Array[],
	devices: readonly DeviceEvidence[],
	ask: Question["ask"],
): Question["ask"] =>
	kind === "switch" && manifests.length === 0 && devices.some((one) => one.kind === "gpu") ? "genuine" : ask;

/** What one device's verdict says becomes part of this hearing; gives its facts. */
function told(hearing: Hearing, verdict: AttestationVerdict, before: string): AttestationVerdict["facts"] {
	const { status, code, where, detail, findings, facts } = verdict;
	for (const one of findings) hearing.find(one.code as Code, one.detail);
	if (status === "invalid") {
		if (facts.wrong !== undefined) hearing.facts.wrong = facts.wrong;
		refuse(code!, `${before}${where}`, detail);
	}
	if (status === "inconclusive") hearing.doubtful(code!, `${before}${where}`, detail);
	return facts;
}

type Files = Pick<Question, "manifests" | "ocsp">;

/** Of each device those that are of its versions, or about its certificates and those of its manifests. */
function filesOfEach(
	hearing: Hearing,
	devices: readonly DeviceEvidence[],
	{ ask, manifests, ocsp }: Question,
	settings: AttestationSettings,
): Files[] {
	const known = devices.map((one, i) => orDoubt(hearing, () => checkGenuine(hearing, one, settings, `devices[${i}].`)));
	const isAllRead = known.every((one) => one?.unread === null);
	const read =
		ask === "measured" ? manifests.map((file, i) => readManifest(hearing, file, settings, `rims[${i}]`)) : [];
	// Which versions a device runs that cannot be read is not known.
	const parts = known.flatMap((one) => one?.parts ?? []);
	if (isAllRead) checkManifestsFit(parts, read, "rims");
	const answers = ocsp.map((file, i) => readOcsp(file, `ocsp[${i}]`));
	const files = known.map((device) => {
		if (device === null) return { manifests: [], ocsp: [] };
		const own = read.filter((one) => device.parts.some((part) => isOf(part, one)));
		const chains = [device.chain.slice(1), ...own.map(({ chain }) => chain)];
		return {
			manifests: manifests.filter((_, i) => read[i] !== undefined && own.includes(read[i])),
			ocsp: ocsp.filter((_, i) => isAboutOne(answers[i]!, chains)),
		};
	});
	const idle = ocsp.findIndex((one) => !files.some((own) => own.ocsp.includes(one)));
	if (idle >= 0 && isAllRead)
		refuse("COLLATERAL_WRONG", `ocsp[${idle}]`, "the answer is about no certificate of this evidence");
	return files;
}

const isAboutOne = (answer: ReturnType<typeof readOcsp>, chains: readonly GenuineDevice["chain"][]): boolean =>
	chains.some((chain) => chain.slice(0, -1).some((one, i) => answerAbout(answer, one, chain[i + 1]!) !== null));
