// The attributes of an ONNX node, each with what is known of it; the rest is refused with the node's name,
// its type and the attribute.
import type { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToUtf8 } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import type { Window } from "../../models/cnn/layers.ts";
import type { OnnxNode } from "./read-onnx.ts";

/** Rows, columns and channels of a picture, and what windows may say. */
export const MOST_SIDE = 4096;

export function refused({ label }: OnnxNode, why: string): AssayError {
	return codedError("ONNX_NODE", `${label}: ${why}`);
}

/** Attributes of a node, each asked for once; one that nobody asked for is refused. */
export class Attributes {
	readonly node: OnnxNode;
	readonly asked = new Set<string>();

	constructor(node: OnnxNode) {
		this.node = node;
	}

	#held(name: string) {
		this.asked.add(name);
		return this.node.attributes.get(name);
	}

	ints(name: string, otherwise: readonly number[]): readonly number[] {
		const found = this.#held(name)?.ints ?? otherwise;
		if (found.length !== otherwise.length || found.some((value) => value < 0 || value > MOST_SIDE))
			throw refused(
				this.node,
				`${name} is [${found.slice(0, 8).join(",")}]; it must have ${otherwise.length} numbers from 0 up`,
			);
		return found;
	}

	/** An attribute that must have this value. */
	must(name: string, value: number, otherwise = value): void {
		const found = this.#held(name)?.int ?? otherwise;
		if (found !== value) throw refused(this.node, `${name} is ${found}; only ${value} is known`);
	}

	int(name: string, otherwise: number): number {
		return this.#held(name)?.int ?? otherwise;
	}

	float(name: string, otherwise: number): number {
		return this.#held(name)?.float ?? otherwise;
	}

	ones(name: string): void {
		const found = this.ints(name, this.node.attributes.has(name) ? this.node.attributes.get(name)!.ints : []);
		if (found.some((value) => value !== 1))
			throw refused(this.node, `${name} is [${found.slice(0, 8).join(",")}]; only 1 is known`);
	}

	/** Pads are spelled out: NOTSET or VALID. */
	window(size: readonly number[]): Window {
		const auto = this.#held("auto_pad")?.text ?? null;
		const word = auto === null ? "NOTSET" : bytesToUtf8(auto);
		if (word !== "NOTSET" && word !== "VALID") throw refused(this.node, "auto_pad must be NOTSET or VALID");
		const strides = this.ints("strides", [1, 1]);
		const pads = this.ints("pads", [0, 0, 0, 0]);
		this.ones("dilations");
		if (size.length !== 2 || [...size, ...strides].some((value) => value < 1))
			throw refused(this.node, "has a window that is not of two dimensions");
		if (word === "VALID" && pads.some((pad) => pad !== 0))
			throw refused(this.node, "auto_pad is VALID, but pads are not 0");
		return {
			size: [size[0]!, size[1]!],
			stride: [strides[0]!, strides[1]!],
			pads: [pads[0]!, pads[1]!, pads[2]!, pads[3]!],
		};
	}

	/** No other attribute is there. */
	end(): void {
		const other = [...this.node.attributes.keys()].find((name) => !this.asked.has(name));
		if (other !== undefined) throw refused(this.node, `its attribute ${other} is not known`);
	}
}
