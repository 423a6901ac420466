// A job as it happens: its stream from the beginning, told to the page a few times a second however many
// events come; and the record, read again when a part moved. Only its customer may see it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Customer } from "../../rent/rental-key.ts";
import { createJobEvents, type LiveJob, NO_EVENTS } from "../job-events.ts";

const TELL_EVERY_MS = 200;
const AGAIN_MS = 3000;

export function useLiveJob(id: string, customer: Customer | null, onMove: () => void): LiveJob {
	const [live, setLive] = useState(NO_EVENTS);
	const moved = useRef(onMove);
	moved.current = onMove;
	useEffect(() => {
		if (customer === null) return;
		const stop = new AbortController();
		const events = createJobEvents();
		let timer: ReturnType<typeof setTimeout> | null = null;
		let lines = 0;
		let lastId = "0";
		const tell = () => {
			timer = null;
			const shown = events.shown();
			setLive(shown);
			if (shown.lines.length !== lines) moved.current();
			lines = shown.lines.length;
		};
		const follow = async () => {
			for await (const event of customer.client.watchJob(
				{ params: { id } },
				{ signal: stop.signal, lastEventId: lastId },
			)) {
				lastId = event.id;
				events.add(event);
				timer ??= setTimeout(tell, TELL_EVERY_MS);
			}
		};
		void (async () => {
			// A validator that went away comes back; a job of somebody else stays one.
			while (!stop.signal.aborted) {
				const isEnd = await follow().then(
					() => true,
					(error: { readonly code?: unknown }) => error?.code === "JOB_UNKNOWN",
				);
				if (isEnd) return;
				await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
			}
		})();
		return () => {
			stop.abort();
			if (timer !== null) clearTimeout(timer);
		};
	}, [id, customer]);
	return live;
}
