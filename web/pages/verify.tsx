// Drop any evidence file, get the verdict. Nothing leaves the browser; works without a network once the page was open.
import { useRef, useState } from "preact/hooks";
import type { Evidence } from "../../src/protocol/evidence.ts";
import { MerkleView } from "../parts/merkle-view.tsx";
import { PageTitle, Panel } from "../parts/small.tsx";
import { type VerifiedFile, VerifyPanel } from "../verify/verify-panel.tsx";

/** Evidence of a large host is some ten MB. */
const LARGEST_BYTES = 256 * 2 ** 20;

export default function VerifyPage() {
	const [file, setFile] = useState<VerifiedFile | null>(null);
	const [evidence, setEvidence] = useState<Evidence | null>(null);
	const [refused, setRefused] = useState("");
	const [over, setOver] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	const take = async (chosen: File | undefined | null) => {
		if (!chosen) return;
		setEvidence(null);
		if (chosen.size > LARGEST_BYTES) {
			setFile(null);
			return setRefused(`${chosen.name} is larger than any evidence`);
		}
		setRefused("");
		setFile({ name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) });
	};
	return (
		<>
			<PageTitle sub="The file is checked here, by the same program as the validator's. It is not sent anywhere, and this page works offline.">
				Verify evidence
			</PageTitle>
			{/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is an extra; the button below does the same by keyboard. */}
			<div
				class={over ? "drop is-over" : "drop"}
				onDragOver={(event) => {
					event.preventDefault();
					setOver(true);
				}}
				onDragLeave={() => setOver(false)}
				onDrop={(event) => {
					event.preventDefault();
					setOver(false);
					void take(event.dataTransfer?.files[0]);
				}}
			>
				<p>Drop an evidence file here</p>
				<button type="button" class="primary" onClick={() => input.current?.click()}>
					Choose a file
				</button>
				<input
					ref={input}
					type="file"
					class="hidden"
					tabIndex={-1}
					aria-label="Evidence file"
					onChange={(event) => void take(event.currentTarget.files?.[0])}
				/>
				{refused === "" ? null : <p role="alert">{refused}</p>}
			</div>
			{file === null ? null : (
				<Panel title="Verdict">
					<VerifyPanel file={file} onEvidence={setEvidence} />
				</Panel>
			)}
			{evidence === null ? null : <MerkleView evidence={evidence} />}
		</>
	);
}
