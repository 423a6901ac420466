// Is a page laid out as it should be, measured in a real browser: nothing sticks out at the side, no text is
// cut, no two texts lie on each other. Text that ends in an ellipsis is fine where its whole is in a title;
// what is wider than its own scrolling box is fine, too.
import type { Page } from "playwright-core";

/** In words, few of each kind; empty: all is well. */
export async function layoutFaults(page: Page): Promise<string[]> {
	return page.evaluate(() => {
		interface Box {
			readonly left: number;
			readonly right: number;
			readonly top: number;
			readonly bottom: number;
		}
		// The header stays when a page scrolls, and then lies on what is under it.
		scrollTo(0, 0);
		const faults: string[] = [];
		const nameOf = (one: Element) =>
			`${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""} “${(one.textContent ?? "").trim().slice(0, 40)}”`;
		const isSeen = (one: Element) =>
			one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
			one.closest(".hidden, .skip, thead") === null;
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth > width)
			faults.push(`the page is ${document.documentElement.scrollWidth} px wide, ${width} are there`);

		/**
		 * What of a text can be seen: its own box, less what boxes around it hide. Null: nothing. `isScrolled`: a
		 * box around it scrolls.
		 */
		const seenBox = (rect: DOMRect, around: Element): { box: Box; isScrolled: boolean } | null => {
			let box: Box = rect;
			let isScrolled = false;
			for (let one: Element | null = around; one !== null && one !== document.body; one = one.parentElement) {
				const { overflowX, overflowY } = getComputedStyle(one);
				if (overflowX === "visible" && overflowY === "visible") continue;
				if (/auto|scroll/.test(`${overflowX} ${overflowY}`)) isScrolled = true;
				const by = one.getBoundingClientRect();
				box = {
					left: Math.max(box.left, by.left),
					right: Math.min(box.right, by.right),
					top: Math.max(box.top, by.top),
					bottom: Math.min(box.bottom, by.bottom),
				};
			}
			return box.right - box.left < 1 || box.bottom - box.top < 1 ? null : { box, isScrolled };
		};

		const texts: { of: Element; box: Box }[] = [];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
			const of = node.parentElement;
			if (
				of === null ||
				(node.textContent ?? "").trim() === "" ||
				!isSeen(of) ||
				of.closest("script, style, title, option, datalist")
			)
				continue;
			const range = document.createRange();
			range.selectNodeContents(node);
			for (const rect of range.getClientRects()) {
				const seen = seenBox(rect, of);
				if (seen === null) continue;
				texts.push({ of, box: seen.box });
				if (seen.isScrolled) continue;
				if (seen.box.right > width + 1 || seen.box.left < -1) faults.push(`sticks out: ${nameOf(of)}`);
				const isCut = rect.right - seen.box.right > 2 || rect.bottom - seen.box.bottom > 4;
				if (isCut && of.closest("[title]") === null && of.querySelector("[title]") === null)
					faults.push(`is cut: ${nameOf(of)}`);
			}
		}
		// Cells of long lists end in an ellipsis; that is for names and sentences, whose whole is in a title, not
		// for figures and times.
		const wholeOf = (one: Element) => (one.getAttribute("title") ?? "").replaceAll(/\s+/g, " ");
		for (const cell of document.querySelectorAll(".table-box td")) {
			if (cell.scrollWidth <= cell.clientWidth + 1 || !isSeen(cell)) continue;
			const said = (one: Element) => (one.textContent ?? "").replaceAll(/\s+/g, " ").replace("…", "").trim();
			const isWhole = [cell, ...cell.querySelectorAll("[title]")].some(
				(one) => wholeOf(one) !== "" && wholeOf(one).includes(said(one)),
			);
			if (!isWhole) faults.push(`is cut: ${nameOf(cell)}`);
		}
		texts.sort((a, b) => a.box.top - b.box.top);
		for (const [i, { of, box }] of texts.entries())
			for (const other of texts.slice(i + 1)) {
				if (other.box.top >= box.bottom) break;
				if (of === other.of || of.contains(other.of) || other.of.contains(of)) continue;
				const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
				const high = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
				if (wide > 3 && high > 5) faults.push(`overlap: ${nameOf(of)} and ${nameOf(other.of)}`);
			}
		return faults.slice(0, 8);
	});
}

/** The same after a change of size: what a page draws itself anew, it draws a moment later. */
export async function settledFaults(page: Page): Promise<string[]> {
	for (let tries = 0; ; tries++) {
		const faults = await layoutFaults(page);
		if (faults.length === 0 || tries === 100) return faults;
		await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
	}
}
