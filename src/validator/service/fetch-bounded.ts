// A file from an address that somebody else wrote: no redirects, no more bytes and no more time than it may take. Null when the server has none.
export async function fetchBounded(
	url: URL,
	{ mostBytes, withinMs }: { readonly mostBytes: number; readonly withinMs: number },
): Promise<Uint8Array | null> {
	const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(withinMs) });
	if (!response.ok || response.body === null) {
		await response.body?.cancel();
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
