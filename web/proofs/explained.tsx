// Why a probe or a file is not valid: what happened, what it means, what to do. For a probe's page and for a
// file that was verified here.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { CodeWords } from "./code-words.ts";

export function Explained(p: { code: string; detail: string | null; where: string | null }) {
	const [words, setWords] = useState<CodeWords | null>(null);
	useEffect(() => {
		let isCurrent = true;
		import("./code-words.ts").then(
			({ wordsOf }) => isCurrent && setWords(wordsOf(p.code)),
			() => {},
		);
		return () => {
			isCurrent = false;
		};
	}, [p.code]);
	return (
		<dl class="explained">
			<Part title="What happened">
				{words?.happened} {p.detail === null ? "" : <span class="said">{p.detail}</span>}{" "}
				<span class="dim">
					<code>{p.code}</code>
					{p.where === null || p.where === "" ? null : (
						<>
							{" "}
							at <code>{p.where}</code>
						</>
					)}
				</span>
			</Part>
			{words === null || words.means === "" ? null : <Part title="What it means">{words.means}</Part>}
			{words === null || words.todo === "" ? null : (
				<Part title="What to do">
					<p>{words.todo}</p>
					{words.owner === "" ? null : (
						<p>
							<strong>Is it your host?</strong> Run <code>assay probe</code> on the machine: it is the same test.{" "}
							{words.owner}
						</p>
					)}
				</Part>
			)}
		</dl>
	);
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
	return (
		<div>
			<dt>{title}</dt>
			<dd>{children}</dd>
		</div>
	);
}
