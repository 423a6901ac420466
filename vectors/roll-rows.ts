// Rows of roll-call.json: the bytes of a roll call, from docs/roll-call.md §3 alone.
import { keccak256, toBytes } from "viem";
import { type Bytes, taggedHash } from "./naive-maths.ts";
import { hex, label, numbers, type Row } from "./rows.ts";

const keccak = (...parts: Bytes[]): Bytes => toBytes(keccak256(Buffer.concat(parts)));
const be = (value: number, bytes: number): Bytes => Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex");

export function rollRows(): Row[] {
	const draw = numbers("roll call");
	return Array.from({ length: 24 }, (_, i) => {
		const named = (what: string) => label(`roll call ${what} ${i}`);
		const [beta0, beta2, key, last] = ["beta0", "beta2", "key", "last"].map(named) as [Bytes, Bytes, Bytes, Bytes];
		const account = i % 4 === 0 ? new Uint8Array(20) : named("account").subarray(0, 20);
		const contract = named("contract").subarray(0, 20);
		const rounds = 1 + draw(3);
		const sizes = {
			device: draw(64),
			m: 128 * (1 + draw(512)),
			n: 512 * (1 + draw(128)),
			k: 128 * (1 + draw(512)),
			rounds,
			keep: 1 + draw(rounds),
		};
		const chainId = 1 + draw(2 ** 31);
		const call = draw(2 ** 40);
		const every = 1 + draw(4);
		const head = Buffer.concat([key, account, ...Object.values(sizes).map((value) => be(value, 4))]);
		const roots = Array.from({ length: rounds }, (_, round) => named(`root ${round}`));
		const seed = taggedHash("assay/roll-seed/1", beta0, head);
		const end = roots.reduce((before, root) => taggedHash("assay/seed/1", before, root), seed);
		const leaf = keccak(Buffer.of(0), head, end, last);
		const second = named("second leaf");
		const drawn = BigInt(`0x${hex(keccak(Buffer.from("assay/roll-call/1"), beta0))}`);
		const open = (kind: number) =>
			hex(taggedHash("assay/roll-open/1", beta2, key, be(sizes.device, 4), Buffer.of(kind)));
		return {
			beta0: hex(beta0),
			every,
			isCall: drawn < (2n ** 256n - 1n) / BigInt(every) ? 1 : 0,
			key: hex(key),
			account: hex(account),
			...sizes,
			roots: roots.map(hex).join(""),
			last: hex(last),
			seed: hex(seed),
			end: hex(end),
			nonce: hex(taggedHash("assay/roll-nonce/1", end)),
			leaf: hex(leaf),
			chainId,
			contract: hex(contract),
			call,
			secondLeaf: hex(second),
			answer: hex(taggedHash("assay/roll-answer/1", be(chainId, 8), contract, be(call, 8), beta0, leaf, second)),
			beta2: hex(beta2),
			openGemm: open(0),
			openStream: open(1),
		};
	});
}
