// The frame around every page: name, navigation, live state, theme; and which page belongs to which path.
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Empty, Failed, Loading, PageTitle } from "../parts/small.tsx";
import { retryNow, type Trouble, troubleOf, useLive } from "./api.ts";
import { type Place, usePlace } from "./router.ts";

export interface PageProps {
	readonly place: Place;
}
export type Page = ComponentType<PageProps>;

interface Entry {
	readonly title: string;
	readonly inNav: boolean;
	readonly load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export type Pages = Readonly<Record<string, Entry>>;

const LIVE = {
	connecting: { mark: "○", word: "connecting" },
	live: { mark: "●", word: "live" },
	broken: { mark: "◌", word: "offline" },
} as const;

function LiveMark() {
	const state = useLive();
	return (
		<span class={`live is-${state}`} role="status">
			<span aria-hidden="true">{LIVE[state].mark}</span> {LIVE[state].word}
		</span>
	);
}

/**
 * The validator went away in the middle: what is on the screen is old, and it is said so until it is back.
 */
function GoneBanner() {
	const state = useLive();
	const [wasLive, setWasLive] = useState(false);
	useEffect(() => {
		if (state === "live") setWasLive(true);
	}, [state]);
	if (state !== "broken") return null;
	return (
		<div class="gone" role="alert">
			<p>
				<strong>The validator cannot be reached.</strong>{" "}
				{wasLive ? "What is shown here is what it said last." : "Files can still be verified here."} Trying again by
				itself.
			</p>
			<button type="button" class="small" onClick={retryNow}>
				Try now
			</button>
		</div>
	);
}

function ThemeButton() {
	const isDark = () =>
		(document.documentElement.dataset.theme ??
			(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	const [dark, setDark] = useState(isDark);
	return (
		<button
			type="button"
			class="quiet"
			aria-label={dark ? "Use the light theme" : "Use the dark theme"}
			title={dark ? "Light theme" : "Dark theme"}
			onClick={() => {
				const theme = dark ? "light" : "dark";
				document.documentElement.dataset.theme = theme;
				try {
					localStorage.setItem("theme", theme);
				} catch {
					// For this visit only, then.
				}
				setDark(!dark);
			}}
		>
			<span aria-hidden="true">{dark ? "☀" : "☾"}</span>
		</button>
	);
}

/** All pages in one row; where that is too narrow, behind a button. */
function Navigation({ pages, first }: { pages: Pages; first: string }) {
	const [isOpen, setOpen] = useState(false);
	return (
		<>
			<button
				type="button"
				class="menu small"
				aria-expanded={isOpen}
				aria-controls="pages"
				onClick={() => setOpen(!isOpen)}
			>
				Menu
			</button>
			<nav id="pages" aria-label="Pages" class={isOpen ? "is-open" : ""}>
				{Object.entries(pages)
					.filter(([, { inNav }]) => inNav)
					.map(([name, { title }]) => (
						<a
							key={name}
							href={`/${name}`}
							aria-current={name === first ? "page" : undefined}
							onClick={() => setOpen(false)}
						>
							{title}
						</a>
					))}
			</nav>
		</>
	);
}

export function Shell({ pages }: { pages: Pages }) {
	const place = usePlace();
	const [first = ""] = place.parts;
	const entry = pages[first];
	const [shown, setShown] = useState<{ name: string; Page: Page } | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		let isCurrent = true;
		setTrouble(null);
		entry?.load().then(
			({ default: Page }) => isCurrent && setShown({ name: first, Page }),
			(error) => isCurrent && setTrouble(troubleOf(error)),
		);
		return () => {
			isCurrent = false;
		};
	}, [entry, first]);
	// Before the page's own title, which comes with an effect.
	useLayoutEffect(() => {
		document.title = entry === undefined ? "assay" : `${entry.title} · assay`;
	}, [entry]);
	return (
		<>
			<a class="skip" href="#main">
				Skip to content
			</a>
			<header class="top">
				<a class="brand" href="/" aria-label="assay, overview">
					<img src="/icon.svg" alt="" width="24" height="24" /> assay
				</a>
				<Navigation pages={pages} first={first} />
				<div class="top-end">
					<LiveMark />
					<ThemeButton />
				</div>
			</header>
			<main id="main" tabIndex={-1}>
				<GoneBanner />
				{entry === undefined ? (
					<>
						<PageTitle>No such page</PageTitle>
						<Empty title="There is nothing under this address">
							<a href="/">Back to the overview</a>
						</Empty>
					</>
				) : trouble !== null ? (
					<>
						<PageTitle>{entry.title}</PageTitle>
						<Failed
							trouble={{ ...trouble, hint: "This part of the page could not be loaded." }}
							again={() => location.reload()}
						/>
					</>
				) : shown === null || shown.name !== first ? (
					<Loading what="the page" lines={6} />
				) : (
					<shown.Page place={place} />
				)}
			</main>
			<footer class="foot">
				<span>Every figure here was measured by a probe. Its evidence is public: check it yourself.</span>
				<a href="/verify">Verify a file</a>
				<a href="/v1/openapi.json">API</a>
			</footer>
		</>
	);
}
