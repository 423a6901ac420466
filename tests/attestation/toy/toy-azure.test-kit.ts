// Plays Azure's virtual TPM and its metadata service on two sockets of a folder (the engine's --toy-azure):
// commands of TPM 2.0 read strictly, answers made by the mint. `faults` makes one thing wrong.
import { mkdir, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { bytesToHex, concatBytes, u32 } from "../../../src/protocol/bytes/bytes.ts";
import type { GuestRule } from "../../../src/verify/attestation/guest-rules.ts";
import { pem } from "../../../src/verify/attestation/mint/der-writer.test-kit.ts";
import {
	arkOf,
	askOf,
	azurePlan,
	mintHcl,
	mintTpmQuote,
	snpLeaf,
} from "../../../src/verify/attestation/mint/mint-amd.test-kit.ts";

export interface AzureFaults {
	/** By command code: what it answers instead, or null for silence. */
	answer?: (code: number, right: () => Uint8Array) => Uint8Array | null;
	/** The whole answer of the metadata service; null: there is none. */
	page?: string | null;
	/** Of the report in the TPM. */
	report?: (right: Uint8Array) => Uint8Array;
}

export interface ToyAzure {
	/** For the engine's --toy-azure. */
	readonly folder: string;
	faults: AzureFaults;
	close(): Promise<void>;
}

const [NV_READ, QUOTE, NV_READ_PUBLIC, PCR_READ] = [0x14e, 0x158, 0x169, 0x17e];
const REPORT_INDEX = 0x01400001;
const plan = azurePlan();

/** The guest behind it. */
export const AZURE_GUEST: GuestRule = {
	...{ name: "the toy's guest on Azure", tee: "azure-snp", measurement: bytesToHex(plan.snp.measurement) },
	registers: plan.pcrs.map(bytesToHex),
};

const big16 = (value: number) => Uint8Array.of(value >> 8, value & 255);
const big32 = (value: number) => Uint8Array.from(u32(value)).reverse();
const sized = (bytes: Uint8Array) => concatBytes(big16(bytes.length), bytes);
export const tpmAnswer = (code: number, body: Uint8Array, tag = 0x8001): Uint8Array =>
	concatBytes(big16(tag), big32(10 + body.length), big32(code), body);
/** With an empty session behind its parameters. */
const inSession = (body: Uint8Array) =>
	tpmAnswer(0, concatBytes(big32(body.length), body, Uint8Array.of(0, 0, 1, 0, 0)), 0x8002);

export async function createToyAzure(parent: string): Promise<ToyAzure> {
	const folder = join(parent, "azure");
	await mkdir(folder);
	const toy: ToyAzure = { folder, faults: {}, close };
	const open = new Set<Socket>();
	const serve = (name: string, onSocket: (socket: Socket) => void): Promise<Server> =>
		new Promise((resolve) => {
			const server = createServer((socket) => {
				open.add(socket);
				socket.on("error", () => {}).on("close", () => open.delete(socket));
				onSocket(socket);
			});
			server.listen(join(folder, name), () => resolve(server));
		});
	const servers = [
		await serve("tpm", (socket) =>
			socket.on("data", (command) => {
				const code = command.readUInt32BE(6);
				const answer = toy.faults.answer ?? ((_, right) => right());
				const bytes = answer(code, () => answerTo(command, toy.faults.report));
				// One that is cut off ends.
				if (bytes !== null) bytes.length < Buffer.from(bytes).readUInt32BE(2) ? socket.end(bytes) : socket.write(bytes);
			}),
		),
		await serve("metadata", (socket) =>
			socket.once("data", () => {
				const { page = certificatePage() } = toy.faults;
				if (page !== null) socket.end(page);
			}),
		),
	];
	async function close() {
		for (const socket of open) socket.destroy();
		await Promise.all(servers.map((server) => new Promise((done) => server.close(() => done(null)))));
		await rm(folder, { recursive: true, force: true });
	}
	return toy;
}

function certificatePage(): string {
	const certificateChain = pem(askOf(plan.snp.product), arkOf(plan.snp.product));
	const body = JSON.stringify({ vcekCert: pem(snpLeaf(plan.snp)), tcbm: "DB18000000000004", certificateChain });
	return `HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n${body}`;
}

/** Strict: an engine that asks in another form gets TPM_RC_BAD_TAG, and no quote. */
function answerTo(command: Buffer, change: AzureFaults["report"]): Uint8Array {
	const [tag, size, code] = [command.readUInt16BE(0), command.readUInt32BE(2), command.readUInt32BE(6)];
	const bad = tpmAnswer(0x1e, new Uint8Array(0));
	const hcl = (change ?? ((right) => right))(mintHcl(plan).hcl);
	const session = "00000009" + "40000009" + "0000" + "00" + "0000";
	if (size !== command.length || tag !== (code === NV_READ || code === QUOTE ? 0x8002 : 0x8001)) return bad;
	const rest = bytesToHex(command.subarray(10));
	if (code === NV_READ_PUBLIC) {
		if (rest !== "01400001") return bad;
		const area = concatBytes(big32(REPORT_INDEX), big16(0x0b), big32(0x62060006), sized(new Uint8Array(0)));
		return tpmAnswer(0, concatBytes(sized(concatBytes(area, big16(hcl.length))), sized(new Uint8Array(34))));
	}
	if (code === NV_READ) {
		const [head, asked, from] = [rest.slice(0, -8), command.readUInt16BE(31), command.readUInt16BE(33)];
		if (head !== `4000000101400001${session}` || from + asked > hcl.length || asked > 1024) return bad;
		return inSession(sized(hcl.subarray(from, from + asked)));
	}
	if (code === QUOTE) {
		// As Azure's: at most 50 bytes.
		const length = command.readUInt16BE(27);
		const all = "0010" + "00000001" + "000b" + "03ffffff";
		if (!rest.startsWith(`81000003${session}`) || !rest.endsWith(all)) return bad;
		if (length > 50) return tpmAnswer(0x1d5, new Uint8Array(0));
		const { message, signature } = mintTpmQuote(
			new Uint8Array(command.subarray(29, 29 + length)),
			plan.pcrs,
			plan.selected,
		);
		return inSession(concatBytes(sized(message), big16(0x14), big16(0x0b), sized(signature)));
	}
	if (code !== PCR_READ || !rest.startsWith("00000001000b03")) return bad;
	const asked = plan.selected.filter((i) => ((command[17 + (i >> 3)]! >> (i & 7)) & 1) === 1).slice(0, 8);
	const bits = [0, 1, 2].map((byte) => asked.reduce((sum, i) => sum | (i >> 3 === byte ? 1 << (i & 7) : 0), 0));
	const selection = concatBytes(big32(1), big16(0x0b), Uint8Array.of(3, ...bits));
	const values = concatBytes(...asked.map((i) => sized(plan.pcrs[i]!)));
	return tpmAnswer(0, concatBytes(big32(7), selection, big32(asked.length), values));
}

export const azureCommand = { nvRead: NV_READ, quote: QUOTE, nvReadPublic: NV_READ_PUBLIC, pcrRead: PCR_READ };
