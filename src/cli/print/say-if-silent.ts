// A command that says nothing for a second says what it does: on a terminal in a line that goes again with
// the first word of the result, elsewhere in a plain line. On standard error, so that --json stays clean.
import type { CliIo } from "../command.ts";
import { createStatusLine } from "./status-line.ts";

/** Short waits are not worth a line. */
const SILENT_MS = 1000;

/** By command and verb; "": without a verb, and for every verb that is not named. */
export const DOING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
	verify: { "": "checks the file" },
	report: { "": "checks the file" },
	job: {
		"": "asks the validator",
		plan: "makes the program and its inputs",
		quote: "makes the program and its inputs, and their hashes",
		submit: "makes the program and its inputs, and their hashes",
		check: "reads the run",
		diff: "reads both runs",
		result: "fetches the result and checks it",
		audit: "does the draws again",
	},
	program: { "": "reads the program" },
	model: { "": "reads the model" },
	dispute: { "": "asks the validator", prove: "judges the file" },
	watch: { "": "looks for claims" },
	chain: { "": "asks the chain" },
	stake: { "": "asks the chain" },
	unstake: { "": "asks the chain" },
	deposit: { "": "asks the chain" },
	claim: { "": "asks the chain" },
	audit: { "": "reads the epoch from the chain and computes it again" },
	accuse: { "": "checks the file, then asks the chain" },
	providers: { "": "asks the validator" },
	history: { "": "asks the validator" },
	probes: { "": "asks the validator" },
	evidence: { "": "asks the validator" },
	scores: { "": "asks the validator" },
	rent: { "": "asks the validator" },
	tokens: { "": "asks the validator" },
};

/** Null: it always says something by itself, or may be silent for long by design. */
export function doingOf(name: string, verb: string | undefined): string | null {
	const all = DOING[name];
	if (all === undefined) return null;
	return (verb !== undefined && Object.hasOwn(all, verb) ? all[verb] : all[""]) ?? null;
}

/** Runs `act` with streams that notice its first word. */
export async function sayIfSilent<T>(io: CliIo, doing: string, act: (io: CliIo) => Promise<T>): Promise<T> {
	const line = createStatusLine(io.err);
	const timer = setTimeout(() => {
		if (io.err.isTTY === true) line.update(`  ${doing} …`);
		else io.err.write(`  ${doing} …\n`);
	}, SILENT_MS);
	timer.unref();
	const end = () => {
		clearTimeout(timer);
		line.clear();
	};
	try {
		return await act({ ...io, out: noticed(io.out, end), err: noticed(io.err, end) });
	} finally {
		end();
	}
}

/** The same stream; `onWrite` comes before whatever is written. */
const noticed = (stream: NodeJS.WriteStream, onWrite: () => void): NodeJS.WriteStream =>
	new Proxy(stream, {
		get(target, name) {
			const value: unknown = Reflect.get(target, name, target);
			if (typeof value !== "function") return value;
			if (name !== "write") return value.bind(target);
			return (...given: unknown[]) => {
				onWrite();
				return value.apply(target, given);
			};
		},
	});
