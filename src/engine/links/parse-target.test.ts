// Targets: what is read, and what must never reach ssh as an argument.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTarget, targetToText } from "./parse-target.ts";
import { hostKeyAlias } from "./ssh-options.ts";

test("targets are read as written", () => {
	assert.deepEqual(parseTarget("local"), { kind: "local" });
	const good: [string, string | null, string, number | null][] = [
		["ssh://root@gpu-1.example.com", "root", "gpu-1.example.com", null],
		["ssh://root@10.0.0.1:2222", "root", "10.0.0.1", 2222],
		["ssh://a.b_c-d+e@h:1", "a.b_c-d+e", "h", 1],
		["ssh://my_alias", null, "my_alias", null],
		["ssh://root@[2001:db8::1]:65535", "root", "2001:db8::1", 65535],
		["ssh://root@[::1]", "root", "::1", null],
	];
	for (const [text, user, host, port] of good) {
		const target = parseTarget(text);
		assert.deepEqual(target, { kind: "ssh", user, host, port });
		assert.equal(targetToText(target), text);
	}
	for (const [text] of good.filter(([, user]) => user !== null))
		assert.deepEqual(parseTarget(text.slice("ssh://".length)), parseTarget(text), "for short");
});

test("anything else is refused, above all what ssh or a shell would obey", () => {
	const bad = [
		...[
			"",
			"Local",
			"local ",
			" local",
			"localhost",
			"host",
			"host:22",
			"http://host",
			"http://root@host",
			"ssh:host",
			"SSH://host",
			"ssh://",
		],
		...[
			"-oProxyCommand=id",
			"-oProxyCommand=id@host",
			"root@-oProxyCommand=id",
			"root@host;id",
			"@host",
			"root@",
			"a@b@c",
		],
		...["ssh://-oProxyCommand=id", "ssh://root@-oProxyCommand=id", "ssh://-l@host", "ssh://-host", "ssh://host-"],
		...[
			"ssh://ro ot@host",
			"ssh://root@ho st",
			"ssh://root@host\n",
			"ssh://root@ho\u0000st",
			"ssh://root@host\u001b[2J",
			"ssh://root@höst",
		],
		...[
			"ssh://root@host;id",
			"ssh://root@$(id)",
			"ssh://root@`id`",
			"ssh://root@host%20",
			"ssh://r'oot@host",
			"ssh://root@%h",
		],
		...[
			"ssh://root@host:",
			"ssh://root@host:0",
			"ssh://root@host:022",
			"ssh://root@host:65536",
			"ssh://root@host:1e3",
			"ssh://root@host:22:22",
		],
		...[
			"ssh://root@::1",
			"ssh://root@[::1",
			"ssh://root@::1]",
			"ssh://root@[1.2.3.4]",
			"ssh://root@[fe80::1%25eth0]",
			"ssh://root@[::1]22",
			"ssh://root@[]",
		],
		...[
			"ssh://root@host/",
			"ssh://root@host/path",
			"ssh://root@host?x",
			"ssh://root@host#x",
			"ssh://root:secret@host",
			"ssh://@host",
			"ssh://a@b@host",
		],
		`ssh://root@${"h".repeat(300)}`,
		`ssh://${"u".repeat(65)}@host`,
	];
	for (const text of bad) {
		assert.throws(() => parseTarget(text), { name: "AssayError", code: "TARGET_BAD" }, JSON.stringify(text));
	}
	assert.throws(
		() => parseTarget("ssh://root:secret@host"),
		(error: Error) => !error.message.includes("secret"),
	);
});

test("a host's key is filed under what was typed", () => {
	const alias = (text: string) => {
		const target = parseTarget(text);
		assert.equal(target.kind, "ssh");
		return target.kind === "ssh" ? hostKeyAlias(target) : "";
	};
	assert.equal(alias("ssh://root@Host"), "host");
	assert.equal(alias("ssh://other@host:22"), "host");
	assert.equal(alias("ssh://root@host:2222"), "[host]:2222");
	assert.equal(alias("ssh://root@[::1]:2222"), "[::1]:2222");
});
