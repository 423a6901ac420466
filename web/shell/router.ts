// Where we are: the path and query of the address, links that change it without loading the document again.
// No pages here.
import { useEffect, useState } from "preact/hooks";

export interface Place {
	/** Parts of the path, decoded: /probes/ab → ["probes", "ab"]. */
	readonly parts: readonly string[];
	readonly query: URLSearchParams;
	readonly href: string;
}

const listeners = new Set<() => void>();

function currentPlace(): Place {
	const { pathname, search } = location;
	const parts = pathname.split("/").filter((part) => part !== "");
	return { parts, query: new URLSearchParams(search), href: pathname + search };
}

let isFocusWanted = false;

/**
 * True once after each step to another page: its title takes the focus, so that screen readers and the
 * keyboard follow.
 */
export function takeFocusWish(): boolean {
	const wish = isFocusWanted;
	isFocusWanted = false;
	return wish;
}

const tell = () => {
	for (const listener of [...listeners]) listener();
};

export function goTo(href: string): void {
	if (href === location.pathname + location.search) return;
	isFocusWanted = href.split("?")[0] !== location.pathname;
	history.pushState(null, "", href);
	window.scrollTo(0, 0);
	tell();
}

/** Filters live in the address, so that a view can be sent to somebody; they make no steps in the history. */
export function replaceQuery(query: URLSearchParams): void {
	const text = query.toString();
	history.replaceState(history.state, "", text === "" ? location.pathname : `${location.pathname}?${text}`);
	tell();
}

/** One of them; an empty one leaves the address. */
export function setQuery(place: Place, key: string, value: string): void {
	const query = new URLSearchParams(place.query);
	if (value === "") query.delete(key);
	else query.set(key, value);
	replaceQuery(query);
}

export function usePlace(): Place {
	const [place, setPlace] = useState(currentPlace);
	useEffect(() => {
		const look = () => setPlace(currentPlace());
		const goBack = () => {
			isFocusWanted = true;
			look();
		};
		listeners.add(look);
		window.addEventListener("popstate", goBack);
		return () => {
			listeners.delete(look);
			window.removeEventListener("popstate", goBack);
		};
	}, []);
	return place;
}

/**
 * Plain clicks on plain links of our own pages; everything else (downloads, /v1, new tabs) is the browser's.
 */
export function takeLinkClicks(): void {
	document.addEventListener("click", (event) => {
		if (
			event.defaultPrevented ||
			event.button !== 0 ||
			event.metaKey ||
			event.ctrlKey ||
			event.shiftKey ||
			event.altKey
		)
			return;
		const link = event.target instanceof Element ? event.target.closest("a") : null;
		if (!(link instanceof HTMLAnchorElement) || link.hasAttribute("download") || link.target !== "") return;
		const url = new URL(link.href);
		if (url.origin !== location.origin || /^\/(v1|metrics)(\/|$)/.test(url.pathname)) return;
		if (url.pathname === location.pathname && url.hash !== "") return;
		event.preventDefault();
		goTo(url.pathname + url.search);
	});
}
