// Keeps the dashboard's own files for a visitor without a network, so that evidence can be verified offline
// once the page was open. Only files of the build: nothing under /v1 is ever kept, what the API says must be
// what it says now.
declare const KEPT_FILES: readonly string[];
declare const KEPT_VERSION: string;

interface Waiting extends Event {
	waitUntil(work: Promise<unknown>): void;
}
interface Fetching extends Waiting {
	readonly request: Request;
	respondWith(response: Promise<Response>): void;
}
interface Worker {
	readonly clients: { claim(): Promise<void> };
	readonly location: { readonly origin: string };
	skipWaiting(): Promise<void>;
	addEventListener(kind: "install" | "activate", listener: (event: Waiting) => void): void;
	addEventListener(kind: "fetch", listener: (event: Fetching) => void): void;
}
const worker = globalThis as unknown as Worker;
const name = `assay-${KEPT_VERSION}`;

worker.addEventListener("install", (event) => {
	event.waitUntil(
		caches
			.open(name)
			.then((cache) => cache.addAll(KEPT_FILES))
			.then(() => worker.skipWaiting()),
	);
});

worker.addEventListener("activate", (event) => {
	event.waitUntil(
		caches
			.keys()
			.then((names) => Promise.all(names.filter((other) => other !== name).map((other) => caches.delete(other))))
			.then(() => worker.clients.claim()),
	);
});

worker.addEventListener("fetch", (event) => {
	const { request } = event;
	const url = new URL(request.url);
	if (request.method !== "GET" || url.origin !== worker.location.origin || /^\/(v1|metrics)(\/|$)/.test(url.pathname))
		return;
	if (request.mode === "navigate") {
		// The network first: a newer dashboard is seen at once. Without one every page is the same kept shell.
		event.respondWith(fetch(request).catch(async () => (await caches.match("/")) ?? Response.error()));
	} else if (KEPT_FILES.includes(url.pathname)) {
		event.respondWith(caches.match(url.pathname).then((kept) => kept ?? fetch(request)));
	}
});
