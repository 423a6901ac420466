// An API before a real one that refuses some of what it is asked, as a validator does on a bad day, and hands
// everything else on.
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { problemDocument, STATUS_OF_CODE } from "../../src/api/server/problem.ts";

/** `refuse`: the code that `METHOD /path` is answered with; null: it is handed on. */
export async function openRefusingApi(target: string, refuse: (what: string) => string | null) {
	const { hostname, port } = new URL(target);
	const server = createServer((heard, response) => {
		const code = refuse(`${heard.method} ${heard.url}`);
		if (code !== null) {
			const status = STATUS_OF_CODE[code]!;
			heard.resume();
			response.writeHead(status, { "content-type": "application/problem+json", "retry-after": "1" });
			response.end(JSON.stringify(problemDocument({ code, status, detail: code, hint: "", isOurs: false }, "1")));
			return;
		}
		const { method, url: path, headers } = heard;
		const onward = ask({ hostname, port, method, path, headers }, (answer) => {
			response.writeHead(answer.statusCode!, answer.headers);
			answer.pipe(response);
		});
		onward.on("error", () => response.destroy());
		response.on("close", () => onward.destroy());
		heard.pipe(onward);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const close = async (): Promise<void> => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	};
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
