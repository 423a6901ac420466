// A place to drop files, with the browser's own dialog behind a button. Not here: what is done with the
// files.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

export function DropArea(p: {
	title: string;
	/** Of the dialog, for those who hear the page. */
	label: string;
	/** There is something else to look at already. */
	isSmall?: boolean;
	onFiles: (files: readonly File[], wasDropped: boolean) => void;
	/** What stands in it; a button calls `choose`. */
	children: (choose: () => void) => ComponentChildren;
}) {
	const [isOver, setOver] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	return (
		// biome-ignore lint/a11y/noStaticElementInteractions: dropping is an extra; the button inside does the same by keyboard.
		<div
			class={`drop ${isOver ? "is-over" : ""} ${p.isSmall ? "is-small" : ""}`}
			onDragOver={(event) => {
				event.preventDefault();
				setOver(true);
			}}
			onDragLeave={() => setOver(false)}
			onDrop={(event) => {
				event.preventDefault();
				setOver(false);
				p.onFiles([...(event.dataTransfer?.files ?? [])], true);
			}}
		>
			<p class="drop-title">{p.title}</p>
			{p.children(() => input.current?.click())}
			<input
				ref={input}
				type="file"
				multiple
				class="hidden"
				tabIndex={-1}
				aria-label={p.label}
				onChange={(event) => {
					p.onFiles([...(event.currentTarget.files ?? [])], false);
					// The same file again is a new question.
					event.currentTarget.value = "";
				}}
			/>
		</div>
	);
}
