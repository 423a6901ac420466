// A fetch from an address that somebody else wrote: no redirects, bounded in bytes and in time. And any body,
// read up to a bound.

interface Bounds {
	readonly mostBytes: number;
	readonly withinMs: number;
	readonly signal?: AbortSignal | undefined;
}

/**
 * Null: the server has none, or more than `mostBytes`. Throws when it does not answer in `withinMs`, last
 * byte included, or asks to come again later.
 */
export const fetchBounded = async (url: URL, o: Bounds): Promise<Buffer | null> =>
	(await askBounded(url, o))?.body ?? null;

/** The same with the answer's headers; `post` is sent where it is given. */
export async function askBounded(
	url: URL,
	o: Bounds & { readonly post?: { readonly type: string; readonly bytes: Uint8Array } | undefined },
): Promise<{ readonly body: Buffer; readonly headers: Headers } | null> {
	// ATTACK: a redirect could lead to an address that only this machine can reach.
	const signal = AbortSignal.any([AbortSignal.timeout(o.withinMs), ...(o.signal === undefined ? [] : [o.signal])]);
	const sent = o.post && { method: "POST", headers: { "content-type": o.post.type }, body: Buffer.from(o.post.bytes) };
	const response = await fetch(url, { redirect: "error", signal, ...sent });
	if (response.ok) {
		const body = await readBounded(response.body ?? [], o.mostBytes);
		return body === null ? null : { body, headers: response.headers };
	}
	await response.body?.cancel();
	if (response.status === 429 || response.status === 503) throw new Error(`the server is busy (${response.status})`);
	return null;
}

/** Null: more than `mostBytes`; the rest is not read, so that an endless body ends at the bound. */
export async function readBounded(
	body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
	mostBytes: number,
): Promise<Buffer | null> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of body) {
		size += chunk.length;
		// Leaving the loop ends the transfer.
		if (size > mostBytes) return null;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}
