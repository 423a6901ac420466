// Where the API listens when another program was there first.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:net";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import { listen } from "./validator-api.ts";

const host = "127.0.0.1";

/** Listens as Fastify does, and says where. */
function toy() {
	let server: Server;
	return {
		close: () => server.close(),
		listen: ({ port }: { readonly port: number }) =>
			new Promise<string>((resolve, reject) => {
				server = createServer();
				server
					.once("error", reject)
					.listen(port, host, () => resolve(String((server.address() as { port: number }).port)));
			}),
	};
}

test("a port that another program has is an error, unless the next ones will do", async () => {
	const first = toy();
	const second = toy();
	const port = Number(await listen(first, { host, port: 0, orNext: 0 }));
	try {
		await assert.rejects(
			listen(toy(), { host, port, orNext: 0 }),
			(error) => error instanceof AssayError && error.code === "LISTEN_FAILED" && /next free one/.test(error.hint),
		);
		const other = Number(await listen(second, { host, port, orNext: 99 }));
		assert.ok(other > port && other <= port + 99, `${other} instead of ${port}`);
	} finally {
		first.close();
		second.close();
	}
});

test("a name that is no address of this machine is refused with what to give", async () => {
	const listenAt = (code: string) =>
		listen(
			{ listen: () => Promise.reject(Object.assign(new Error(code), { code })) },
			{ host: "nonsense", port: 0, orNext: 9 },
		);
	for (const code of ["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL"])
		await assert.rejects(listenAt(code), (error) => error instanceof AssayError && /0\.0\.0\.0/.test(error.hint));
	await assert.rejects(listenAt("EMFILE"), { code: "EMFILE" });
});
