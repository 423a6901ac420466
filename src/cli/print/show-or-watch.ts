// The end of every command that reads: a table or JSON once, or again and again with --watch until Ctrl-C.
import type { ApiClient } from "../../api/create-client.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { openApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { flag, number, type Values } from "../options.ts";
import { type Paint, paintFor } from "./paint.ts";
import { printResult } from "./print-result.ts";

export const watchOptions = {
	watch: flag("refresh until Ctrl-C"),
	every: number("SECONDS", "time between refreshes", [0.1, 3600], 2),
};

export interface Shown {
	readonly json: unknown;
	readonly text: (paint: Paint) => string;
}

type WatchValues = { readonly json: boolean } & Values<typeof watchOptions>;

/** Shows what `read` makes of the API's replies. */
export async function showOrWatch(
	values: WatchValues & Parameters<typeof openApi>[0],
	io: CliIo,
	read: (client: ApiClient) => Promise<Shown>,
	as?: Parameters<typeof openApi>[2],
): Promise<number> {
	const api = await openApi(values, io, as);
	const paint = paintFor(io.out, io.env);
	const first = await api.ask(read);
	if (!values.watch) return printResult(values, io, first.json, () => `${first.text(paint)}\n`);
	for (let shown: Shown | AssayError = first; ; ) {
		io.out.write(values.json ? watchedJson(shown) : watchedText(shown, io, paint));
		if (!(await sleep(1000 * values.every, io.interrupted))) return 0;
		// A validator may restart: go on.
		shown = await api.ask(read).catch((error: unknown) => {
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
