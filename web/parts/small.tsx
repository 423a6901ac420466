// Small parts that every page uses: verdicts, times, ids, tiles, and the three states of a page that has
// nothing to show yet. Whatever comes from a provider goes through here as a child of an element, which makes
// it text; nothing in web/ sets markup.
import { type ComponentChildren, type JSX, toChildArray } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Trouble, useNow } from "../shell/api.ts";
import { takeFocusWish } from "../shell/router.ts";
import { formatAgo, shortId } from "./format.ts";

const MARKS = {
	valid: "✓",
	invalid: "✕",
	inconclusive: "~",
	running: "…",
	abandoned: "–",
	waiting: "·",
	none: "·",
} as const;
export type Tone = keyof typeof MARKS;

/** Mark, word and colour: none of them alone. */
export function Badge(p: { tone: Tone; title?: string; children: ComponentChildren }) {
	return (
		<span class={`badge is-${p.tone}`} title={p.title}>
			<span aria-hidden="true" class="badge-mark">
				{MARKS[p.tone]}
			</span>
			{p.children}
		</span>
	);
}

export function VerdictBadge({ state, code }: { state: string | null; code?: string | null | undefined }) {
	const tone = state !== null && Object.hasOwn(MARKS, state) ? (state as Tone) : "none";
	return (
		<Badge tone={tone}>
			<span>{tone === "none" ? "not probed" : tone}</span>
			{code ? (
				<span class="badge-code" title={code}>
					{code}
				</span>
			) : null}
		</Badge>
	);
}

export function exactTime(atMs: number): string {
	return new Date(atMs).toISOString().replace("T", " ").replace("Z", " UTC");
}

/** Relative to this browser's clock, or to one that is `skewMs` ahead of it. */
export function Time({ atMs, never = "never", skewMs }: { atMs: number | null; never?: string; skewMs?: number }) {
	const now = useNow(skewMs === undefined ? 5000 : 1000) + (skewMs ?? 0);
	if (atMs === null) return <span class="dim">{never}</span>;
	return (
		<time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
			{formatAgo(atMs, now)}
		</time>
	);
}

type IdProps = { id: string; href?: string; label?: string };
export function Id({ id, href, label }: IdProps) {
	const text = (
		<code class="id" title={id}>
			{shortId(id)}
		</code>
	);
	return href === undefined ? (
		text
	) : (
		<a href={href} aria-label={label === undefined ? undefined : `${label} ${shortId(id)}`}>
			{text}
		</a>
	);
}

/** A host by its name, which may be longer than there is room. */
export function HostLink({ id, name, class: more = "" }: { id: string; name: string; class?: string }) {
	return (
		<a href={`/providers/${id}`} class={`name ${more}`} title={name === "" ? id : name}>
			{name || shortId(id)}
		</a>
	);
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
	const [done, setDone] = useState(false);
	return (
		<button
			type="button"
			class="small"
			onClick={() => {
				navigator.clipboard?.writeText(text).then(
					() => setDone(true),
					() => setDone(false),
				);
				setTimeout(() => setDone(false), 1500);
			}}
		>
			{done ? "Copied" : label}
		</button>
	);
}

export function Tile({
	name,
	value,
	note,
	chart,
}: {
	name: string;
	value: ComponentChildren;
	note?: ComponentChildren;
	chart?: ComponentChildren;
}) {
	return (
		<div class="tile">
			<dt>{name}</dt>
			<dd class="tile-value">{value}</dd>
			{note === undefined ? null : <dd class="tile-note">{note}</dd>}
			{chart === undefined ? null : <dd class="tile-chart">{chart}</dd>}
		</div>
	);
}

/** One row of a `facts` list. */
export function Fact({ name, isWide, children }: { name: string; isWide?: boolean; children: ComponentChildren }) {
	return (
		<div class={isWide ? "wide" : undefined}>
			<dt>{name}</dt>
			<dd>{children}</dd>
		</div>
	);
}

/** A cell of a table that is an id, and a fact that is one. */
export const IdCell = (id: IdProps) => (
	<td>
		<Id {...id} />
	</td>
);
export const IdFact = ({ name, isWide = false, ...id }: IdProps & { name: string; isWide?: boolean }) => (
	<Fact name={name} isWide={isWide}>
		<Id {...id} />
	</Fact>
);

export function Panel(p: { title: string; children: ComponentChildren; aside?: ComponentChildren }) {
	const id = p.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
	return (
		<section class="panel" aria-labelledby={`${id}-title`}>
			<header class="panel-head">
				<h2 id={`${id}-title`}>{p.title}</h2>
				{p.aside === undefined ? null : <div class="panel-aside">{p.aside}</div>}
			</header>
			{p.children}
		</section>
	);
}

/** Wide content on narrow screens: scrolls by itself, by keyboard too. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
		<section class="scroll" tabIndex={0} aria-label={label}>
			{children}
		</section>
	);
}

/** A plain table that scrolls by itself. A title with a class is a pair. */
export function Table(p: {
	label: string;
	head: readonly (string | readonly [title: ComponentChildren, className: string])[];
	/** Rows; where it `hasBodies`, what holds them. */
	children: ComponentChildren;
	/** Stands in its place where it has no rows. */
	none?: string;
	hasBodies?: boolean;
	class?: string;
}) {
	if (p.none !== undefined && toChildArray(p.children).length === 0) return <Empty title={p.none} />;
	return (
		<Scroll label={p.label}>
			<table class={p.class}>
				<thead>
					<tr>
						{p.head.map((one, i) => (
							<th key={i} scope="col" class={typeof one === "string" ? undefined : one[1]}>
								{typeof one === "string" ? one : one[0]}
							</th>
						))}
					</tr>
				</thead>
				{p.hasBodies ? p.children : <tbody>{p.children}</tbody>}
			</table>
		</Scroll>
	);
}

export function PageTitle({ children, sub }: { children: ComponentChildren; sub?: ComponentChildren }) {
	const title = useRef<HTMLHeadingElement>(null);
	useEffect(() => {
		if (takeFocusWish()) title.current?.focus({ preventScroll: true });
	}, []);
	// The tab and the history say what the page does. Invisible characters of a provider's name stay out of the
	// browser's own frame.
	useEffect(() => {
		const text = (title.current?.textContent ?? "").replaceAll(/\p{C}/gu, "");
		document.title = `${text.slice(0, 80)} · assay`;
	});
	return (
		<div class="page-title">
			<h1 tabIndex={-1} ref={title}>
				{children}
			</h1>
			{sub === undefined ? null : <p class="sub">{sub}</p>}
		</div>
	);
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
	return (
		<div class="state">
			<p class="state-title">{title}</p>
			{children === undefined ? null : <div class="dim">{children}</div>}
		</div>
	);
}

export function Loading({ what, lines = 4 }: { what: string; lines?: number | undefined }) {
	return (
		<div class="state loading" role="status" aria-label={`Loading ${what}`}>
			{Array.from({ length: lines }, (_, i) => (
				<span key={i} class="bone" />
			))}
		</div>
	);
}

export function Failed({ trouble, again }: { trouble: Trouble; again?: () => void }) {
	return (
		<div class="state failed" role="alert">
			<p class="state-title">
				<span aria-hidden="true">⚠ </span>
				{trouble.detail}
			</p>
			<p class="dim">
				<code>{trouble.code}</code> {trouble.hint}
			</p>
			{again === undefined ? null : (
				<button type="button" onClick={again}>
					Try again
				</button>
			)}
		</div>
	);
}

interface Asked {
	readonly trouble: Trouble | null;
	readonly reload: () => void;
}

/** What stands in the place of a value that is not there: bones; without hope of it the reason. */
export function Pending({ of, what, lines }: { of: Asked; what: string; lines?: number | undefined }) {
	return of.trouble === null ? (
		<Loading what={what} lines={lines} />
	) : (
		<Failed trouble={of.trouble} again={of.reload} />
	);
}

export function Shown<T>(p: { of: Asked & { value: T | null }; what: string; children: (value: T) => JSX.Element }) {
	return p.of.value === null ? <Pending of={p.of} what={p.what} /> : p.children(p.of.value);
}
