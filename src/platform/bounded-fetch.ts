// A fetch from an address that somebody else wrote: no redirects, bounded in bytes and in time. And any body, read up to a bound.

/**
 * Null: the server has none, or more than `mostBytes`. Throws when it does not answer in `withinMs`, last byte included, or asks to come
 * again later.
 */
export async function fetchBounded(
	url: URL,
	o: { readonly mostBytes: number; readonly withinMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Buffer | null> {
	// ATTACK: a redirect could lead to an address that only this machine can reach.
	const signal = AbortSignal.any([AbortSignal.timeout(o.withinMs), ...(o.signal === undefined ? [] : [o.signal])]);
	const response = await fetch(url, { redirect: "error", signal });
	if (response.ok) return await readBounded(response.body ?? [], o.mostBytes);
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
