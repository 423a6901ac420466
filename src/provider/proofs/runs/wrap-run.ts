// Wraps run proofs, docs/zk.md §13: what the circuit is told is made here, wires and proof by the engine.
// Nothing is handed out that the verifier does not accept.
import type { OpenWrapSession } from "../../../engine/client/open-wrap-session.ts";
import { bytesToHex, concatBytes } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { bigOf, bytesOf, R } from "../../../protocol/maths/bn254.ts";
import { flatCircuit } from "../../../verify/zk/run/flat-circuit.ts";
import type { WrappedRun } from "../../../verify/zk/run/run-file.ts";
import { claimOf, readRun } from "../../../verify/zk/run/verify-run.ts";
import { verifyWrapped, wrapInputs, wrappedClaim } from "../../../verify/zk/run/verify-wrapped.ts";
import { toldList } from "../../../verify/zk/run/wrap-circuit.ts";
import type { SegmentStatement } from "../../../verify/zk/statement.ts";
import type { ZkPlan } from "../../../work/plan/compile-plan.ts";
import type { ProvingKeyFile } from "./proving-key.ts";

export interface WrapWith {
	readonly openWrap: OpenWrapSession;
	readonly device: number;
	readonly randomBytes: (count: number) => Uint8Array;
	readonly signal?: AbortSignal | undefined;
}

/** A scalar, of twice as many bits as it needs, so that none is likelier. */
export const drawnScalar = ({ randomBytes }: Pick<WrapWith, "randomBytes">): Uint8Array =>
	bytesOf(bigOf(randomBytes(64)) % R);

export interface Wrapper {
	/** The verifying part of its key. */
	readonly key: readonly string[];
	/** `proof`: of as many segments as the key is for (verifyRun). Null: it was stopped. Throws AssayError. */
	wrap(of: {
		readonly statements: readonly SegmentStatement[];
		readonly proof: Uint8Array;
	}): Promise<WrappedRun | null>;
	close(): Promise<void>;
}

/** Null: it was stopped. Throws KEY_FILE where the key is of another plan or number of segments. */
export async function openWrapper(
	plan: ZkPlan,
	segments: number,
	key: ProvingKeyFile,
	by: WrapWith,
): Promise<Wrapper | null> {
	const circuit = flatCircuit(plan, segments);
	const { form, sizes } = key;
	const isOther = (["inputs", "wires", "log2"] as const).some(
		(name) => sizes !== null && sizes[name] !== circuit[name],
	);
	if (isOther) throw codedError("KEY_FILE", `the key is of another circuit than ${segments} segments of this program`);
	const { bytes, inputs, wires, log2 } = circuit;
	const session = await by.openWrap({ device: by.device, form, circuit: bytes, inputs, wires, log2 });
	const close = () => session.release().catch(() => {});
	try {
		await session.giveKey(key.lists());
		const words = await session.key({ signal: by.signal });
		if (words !== null) return { key: bytesToHex(words).match(/.{64}/g)!, wrap: wrapIn, close };
		await close();
		return null;
	} catch (error) {
		await close();
		throw error;
	}

	async function wrapIn(
		this: Wrapper,
		{ statements, proof }: Parameters<Wrapper["wrap"]>[0],
	): ReturnType<Wrapper["wrap"]> {
		const read = readRun(plan, statements, proof);
		const claim = "code" in read ? null : claimOf(plan, read);
		if ("code" in read || claim === null)
			throw codedError("REPLY_WRONG", "the run that is to be wrapped is not proven");
		const claimed = wrappedClaim(read, claim);
		const told = [...wrapInputs(statements, read.told, claim, claimed), ...toldList(read.told), ...read.scalars];
		const numbers = concatBytes(...told.map(bytesOf));
		const made = await session.wrap({ numbers, r: drawnScalar(by), s: drawnScalar(by), signal: by.signal });
		if (made === null) return null;
		const wrapped = { statements, proof: concatBytes(claimed, made, read.opening), key: this.key };
		const verdict = verifyWrapped(plan, statements, wrapped.proof, { key: this.key, isDevAllowed: true });
		if (verdict.status !== "valid")
			throw codedError(verdict.code, `the engine's own proof is refused: ${verdict.detail}`);
		return wrapped;
	}
}
