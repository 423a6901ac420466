// A command's result on standard output: a text for people, or with --json the whole of it.
import type { CliIo } from "../command.ts";
import { type Paint, paintFor } from "./paint.ts";

/** bigint as decimal text. */
const toJson = (value: unknown): string =>
	`${JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one), 2)}\n`;

/** Gives the exit code of a command that is done. */
export function printResult(
	values: { readonly json: boolean },
	io: Pick<CliIo, "out" | "env">,
	result: unknown,
	text: (paint: Paint) => string,
): 0 {
	io.out.write(values.json ? toJson(result) : text(paintFor(io.out, io.env)));
	return 0;
}
