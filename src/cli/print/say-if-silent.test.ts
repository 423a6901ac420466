// A command that is silent for a second says what it does, once, and never where its result goes.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { CliIo } from "../command.ts";
import { type CommandName, loaders } from "../commands.ts";
import { DOING, doingOf, sayIfSilent } from "./say-if-silent.ts";

function toyIo(isTTY: boolean) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY, columns: 80, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const io: CliIo = {
		out: stream("out"),
		err: stream("err"),
		env: {},
		cwd: "/",
		interrupted: new AbortController().signal,
	};
	return { io, said };
}

async function play(isTTY: boolean, silentMs: number) {
	const { io, said } = toyIo(isTTY);
	mock.timers.enable({ apis: ["setTimeout"] });
	try {
		const done = sayIfSilent(io, "counts", async ({ out }) => {
			mock.timers.tick(silentMs);
			const before = said.err;
			out.write("result\n");
			mock.timers.tick(10_000);
			return before;
		});
		return { before: await done, ...said };
	} finally {
		mock.timers.reset();
	}
}

test("after a second of silence, not before, and no more once it has spoken", async () => {
	assert.deepEqual(await play(false, 999), { before: "", out: "result\n", err: "" });
	assert.deepEqual(await play(false, 1000), { before: "  counts …\n", out: "result\n", err: "  counts …\n" });
	const terminal = await play(true, 1000);
	assert.match(terminal.before, /counts …$/);
	assert.ok(terminal.err.endsWith("\r\u001b[K"), "the line goes before the result comes");
	assert.deepEqual([(await play(true, 999)).err, terminal.out], ["", "result\n"]);
});

test("whatever is named is a command with that verb", async () => {
	for (const [name, verbs] of Object.entries(DOING)) {
		const known = (await loaders[name as CommandName]()).verbs;
		for (const verb of Object.keys(verbs)) assert.ok(verb === "" || Object.hasOwn(known, verb), `${name} ${verb}`);
	}
	assert.equal(doingOf("job", "plan"), DOING.job!.plan);
	assert.equal(doingOf("job", "list"), DOING.job![""]);
	assert.equal(doingOf("probe", "local"), null, "it shows its progress");
});
