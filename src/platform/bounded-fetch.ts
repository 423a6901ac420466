// A file from an address that somebody else wrote: no redirects, no more bytes and no more time than it may take. Null when the server has none; throws when there is no
// answer, or when it asks to come again later.
export async function fetchBounded(
	url: URL,
	{ mostBytes, withinMs }: { readonly mostBytes: number; readonly withinMs: number },
): Promise<Uint8Array | null> {
	const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(withinMs) });
	if (!response.ok || response.body === null) {
		await response.body?.cancel();
		if (response.status === 429 || response.status === 503) throw new Error(`the server is busy (${response.status})`);
		return null;
	}
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of response.body) {
		size += chunk.length;
		// Leaving the loop ends the transfer.
		if (size > mostBytes) return null;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}
