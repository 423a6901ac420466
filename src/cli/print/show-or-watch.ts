// The end of every command that reads: a table or JSON once, or again and again with --watch until Ctrl-C.
import { AssayError } from "../../protocol/assay-error.ts";
import type { CliIo } from "../command.ts";
import { numberOption } from "../parse-options.ts";
import { type Paint, paintFor } from "./verdict-table.ts";

export const watchOptions = {
	options: { watch: { type: "boolean", default: false }, every: { type: "string" } },
	help: `  --watch           show it again and again, until Ctrl-C
  --every SECONDS   how often (default 2)`,
} as const;

export interface Shown {
	readonly json: unknown;
	readonly text: (paint: Paint) => string;
}

interface WatchValues {
	readonly json: boolean;
	readonly watch?: boolean | undefined;
	readonly every?: string | undefined;
}

export async function showOrWatch(
	command: string,
	values: WatchValues,
	io: CliIo,
	read: () => Promise<Shown>,
): Promise<number> {
	const paint = paintFor(io.out, io.env);
	const everyMs = values.every === undefined ? 2000 : numberOption(command, "every", values.every, 0.1, 3600) * 1000;
	const first = await read();
	if (values.watch !== true) {
		io.out.write(values.json ? `${JSON.stringify(first.json, null, 2)}\n` : `${first.text(paint)}\n`);
		return 0;
	}
	for (let shown: Shown | AssayError = first; ; ) {
		io.out.write(values.json ? watchedJson(shown) : watchedText(shown, io, paint));
		if (await interruptedWithin(everyMs, io.interrupted)) return 0;
		// A validator that restarts is no reason to stop looking.
		shown = await read().catch((error: unknown) => {
			if (error instanceof AssayError) return error;
			throw error;
		});
	}
}

/** One line each, for programs that read along. */
function watchedJson(shown: Shown | AssayError): string {
	if (!(shown instanceof AssayError)) return `${JSON.stringify(shown.json)}\n`;
	const { code, message, hint } = shown;
	return `${JSON.stringify({ error: { code, message, hint } })}\n`;
}

function watchedText(shown: Shown | AssayError, io: CliIo, paint: Paint): string {
	const text = shown instanceof AssayError ? paint.bad(`${shown.message} [${shown.code}]`) : shown.text(paint);
	const time = paint.dim(new Date().toISOString().slice(11, 19));
	return io.out.isTTY === true ? `\u001b[H\u001b[2J${time}\n${text}\n` : `${time}\n${text}\n\n`;
}

function interruptedWithin(ms: number, signal: AbortSignal): Promise<boolean> {
	return new Promise((resolve) => {
		const end = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", end);
			resolve(signal.aborted);
		};
		const timer = setTimeout(end, ms);
		signal.addEventListener("abort", end);
		if (signal.aborted) end();
	});
}
