// What the benches of the dashboard share: times of interactions as the browser itself counts them, memory of
// a page, and lines of results.
import type { CDPSession, Page } from "playwright-core";

export interface Times {
	readonly median: number;
	/** Of a hundred one takes longer. */
	readonly p99: number;
	readonly worst: number;
	readonly n: number;
}

export function timesOf(all: readonly number[]): Times {
	const sorted = [...all].sort((a, b) => a - b);
	const at = (n: number) => Math.round(sorted[n] ?? 0);
	return {
		median: at(Math.floor(sorted.length / 2)),
		p99: at(Math.ceil(0.99 * sorted.length) - 1),
		worst: at(sorted.length - 1),
		n: sorted.length,
	};
}

export function printTimes(what: string, all: readonly number[]): void {
	const { median, p99, worst, n } = timesOf(all);
	console.log(
		`${what.padEnd(54)} median ${String(median).padStart(5)} ms  p99 ${String(p99).padStart(5)} ms  worst ${String(worst).padStart(5)} ms  (${n})`,
	);
}

export interface Interactions {
	/** From the input to the next paint: as long as somebody sees nothing of it. */
	readonly toPaint: readonly number[];
	/** From the input to the end of its handling. */
	readonly handled: readonly number[];
}

/**
 * From then on, until they are taken: each event of an interaction as the browser itself counts it, those
 * under 16 ms left out. An input that changes nothing is painted with whatever is painted next, a second
 * later where nothing else moves; so a dot changes its colour in the next frame after each. What its handlers
 * change is in that frame too.
 */
export async function watchInteractions(page: Page): Promise<() => Promise<Interactions>> {
	await page.evaluate(() => {
		const seen: [number, number][] = [];
		(globalThis as { interactions?: [number, number][] }).interactions = seen;
		const dot = document.body.appendChild(document.createElement("i"));
		Object.assign(dot.style, {
			position: "fixed",
			inset: "0 auto auto 0",
			width: "1px",
			height: "1px",
			zIndex: "9999",
		});
		let n = 0;
		const paint = () => {
			dot.style.background = ++n % 2 ? "#000" : "#fff";
		};
		for (const kind of ["pointerdown", "pointerup", "click", "keydown", "keyup"])
			addEventListener(kind, () => requestAnimationFrame(paint), { capture: true });
		new PerformanceObserver((list) => {
			for (const entry of list.getEntries() as PerformanceEventTiming[])
				if (entry.interactionId) seen.push([entry.duration, entry.processingEnd - entry.startTime]);
		}).observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
	});
	return async () => {
		const seen = await page.evaluate(
			() => (globalThis as { interactions?: [number, number][] }).interactions?.splice(0) ?? [],
		);
		return { toPaint: seen.map(([paint]) => paint), handled: seen.map(([, end]) => end) };
	};
}

/** Milliseconds between frames of a box that scrolls so far at each. */
export async function scrollFrames(page: Page, box: string, px: number, frames: number): Promise<number[]> {
	return page.evaluate(
		async ([selector, by, count]) => {
			const element = document.querySelector(selector as string)!;
			const gaps: number[] = [];
			let before = performance.now();
			for (let i = 0; i < (count as number); i++) {
				element.scrollTop += by as number;
				await new Promise(requestAnimationFrame);
				const now = performance.now();
				gaps.push(now - before);
				before = now;
			}
			return gaps;
		},
		[box, px, frames] as const,
	);
}

/** Of a page's own objects, after the garbage is gone. */
export async function heapBytes(session: CDPSession): Promise<number> {
	await session.send("HeapProfiler.collectGarbage");
	const { usedSize } = await session.send("Runtime.getHeapUsage");
	return usedSize;
}
