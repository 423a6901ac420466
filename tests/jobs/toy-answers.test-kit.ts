// What a toy provider of jobs says of a part or an audit that it ran: by the answers that owners' providers
// give, over a session of src/work's own machine. One that lied runs the truth now, and so says nothing.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchBlob } from "../../src/api/blob-transfer.ts";
import type { ApiClient } from "../../src/api/create-client.ts";
import type { PartOffer } from "../../src/api/types.ts";
import { toyWork } from "../../src/engine/client/toy-work-session.test-kit.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { type Answerer, type Answering, createAnswerer } from "../../src/provider/jobs/answer-questions.ts";
import type { TensorKind } from "../../src/work/program/shapes.ts";
import { type Ran, rootsOf } from "./toy-part.test-kit.ts";

/** `sign`: null of audits, and without a chain. */
export async function toyAnswers(
	client: ApiClient,
	offer: PartOffer,
	ran: Ran,
	sign: Answering["sign"],
): Promise<Answerer> {
	const { program } = ran.machine.checked;
	const { spec, first } = offer;
	const store = new Map<string, Uint8Array>();
	for (const { root, size } of spec.given)
		store.set(
			root,
			await fetchBlob(client, { root, size }, { job: offer.id }).catch(() => fetchBlob(client, { root, size }, {})),
		);
	const tensorsOf = (kind: TensorKind) => program.tensors.filter((one) => one.kind === kind);
	const rootsBefore = (segment: number) => {
		const { state, results } = ran.kept[segment - first]!;
		return { state: rootsOf(tensorsOf("state"), state), results: rootsOf(tensorsOf("result"), results) };
	};
	const begin = ran.kept[0]!;
	const roots = rootsBefore(first);
	for (const [i, root] of roots.state.entries()) store.set(bytesToHex(root), begin.state[i]!);
	for (const [i, root] of roots.results.entries()) store.set(bytesToHex(root), begin.results[i]!);
	const inputRoots = program.tensors.flatMap(({ kind }, i) =>
		kind === "input" ? [hexToBytes(spec.given.find(({ tensor }) => tensor === i)!.root, 32)!] : [],
	);
	return createAnswerer({
		run: {
			...{ program, seed: hexToBytes(spec.seed, 32)!, inputRoots, kept: first > 0 ? [first] : [], rootsBefore },
			readBlob: async (root) => store.get(root) ?? null,
		},
		...{ open: toyWork({ store }), device: 0, first, states: ran.states, sign },
		bookPath: join(mkdtempSync(join(tmpdir(), "assay-toy-answers-")), "answers.jsonl"),
		upload: async () => {},
	});
}
