// Forwarded addresses are believed of our own proxies, and of nobody else.
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { createProxies } from "./proxied-address.ts";

const request = (remoteAddress: string, forwarded?: string) =>
	({
		socket: { remoteAddress },
		headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
	}) as unknown as IncomingMessage;

test("the nearest address that is no proxy of ours", () => {
	const { addressOf } = createProxies(["127.0.0.1", "10.0.0.0/8", "fd00::/8"]);
	assert.equal(addressOf(request("::ffff:127.0.0.1", "203.0.113.9")), "203.0.113.9");
	assert.equal(addressOf(request("127.0.0.1", "198.51.100.1, 203.0.113.9, 10.1.2.3")), "203.0.113.9");
	assert.equal(addressOf(request("fd00::1", "2001:db8::5")), "2001:db8::5");
});

test("a stranger's header is a stranger's word; nonsense leaves the proxy's own address", () => {
	const { addressOf } = createProxies(["127.0.0.1"]);
	assert.equal(addressOf(request("203.0.113.9", "192.0.2.1")), "203.0.113.9");
	assert.equal(addressOf(request("127.0.0.1", "anything")), "127.0.0.1");
	assert.equal(addressOf(request("127.0.0.1")), "127.0.0.1");
	assert.equal(createProxies([]).addressOf(request("127.0.0.1", "192.0.2.1")), "127.0.0.1");
});
