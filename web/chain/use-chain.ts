// The chain as pages follow it: asked when something of it was told, when a window ends, and every few
// seconds while somebody looks. One clock: the validator's.
import { useEffect, useRef } from "preact/hooks";
import type { Chain } from "../../src/api/types.ts";
import { api, type Loaded, useLoaded, useNow, useReloadOn } from "../shell/api.ts";

export interface FollowedChain {
	/** Null: this validator has none. */
	readonly chain: Chain | null;
	/** What the validator's clock is ahead of this browser's. */
	readonly skewMs: number;
}

const EVERY_MS = 5000;
const AGAIN_MS = 2000;

export function useChain(): Loaded<FollowedChain> {
	const loaded = useLoaded("chain", async (signal): Promise<FollowedChain> => {
		const { chain } = await api.getChain({}, { signal });
		return { chain, skewMs: chain === null ? 0 : chain.nowMs - Date.now() };
	});
	const { reload, value, trouble } = loaded;
	useReloadOn(({ kind }) => kind.startsWith("chain."), reload, 300);
	const chain = value?.chain ?? null;
	const nextAtMs = Math.min(...(chain?.inFlight ?? []).map(({ nextAtMs }) => nextAtMs ?? Number.POSITIVE_INFINITY));
	const skewMs = value?.skewMs ?? 0;
	const hasNone = value !== null && chain === null;
	// Again after each answer and each failure, of which `value` and `trouble` are new: a node that comes back
	// is seen by itself.
	useEffect(() => {
		if (hasNone) return;
		const untilNextMs = nextAtMs - (Date.now() + skewMs) + 300;
		const everyMs = trouble === null ? EVERY_MS : AGAIN_MS;
		const waitMs = untilNextMs > 0 ? Math.min(everyMs, untilNextMs) : everyMs;
		const timer = setTimeout(() => document.visibilityState === "visible" && reload(), waitMs);
		return () => clearTimeout(timer);
	}, [value, trouble, hasNone, nextAtMs, skewMs, reload]);
	// Whoever comes back to the page sees it as it is.
	useEffect(() => {
		const look = () => document.visibilityState === "visible" && !hasNone && reload();
		document.addEventListener("visibilitychange", look);
		return () => document.removeEventListener("visibilitychange", look);
	}, [reload, hasNone]);
	return loaded;
}

/** The validator's time, again every second. */
export const useChainNow = (skewMs: number): number => useNow(1000) + skewMs;

/** Calls `reload` when something happened in the contracts, or an epoch went on. */
export function useReloadWith(chain: Chain, reload: () => void): void {
	const seen = `${chain.activity} ${chain.inFlight.map(({ number, phase }) => `${number}${phase}`).join()}`;
	const before = useRef(seen);
	useEffect(() => {
		if (before.current === seen) return;
		before.current = seen;
		reload();
	}, [seen, reload]);
}
