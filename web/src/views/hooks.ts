// SPDX-License-Identifier: MIT
// What views ask of the browser.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useMedia(query: string): boolean {
	const [matches, update] = useState(() => matchMedia(query).matches);

	useEffect(() => {
		const list = matchMedia(query);
		const listen = () => update(list.matches);
		listen();
		list.addEventListener("change", listen);
		return () => list.removeEventListener("change", listen);
	}, [query]);
	return matches;
}

export const useNarrow = () => useMedia("(max-width: 720px)");

/** "light" or "dark", as the page is drawn now. Canvases draw again when it changes. */
export function useTheme(): string {
	const now = () => document.documentElement.dataset.theme ?? "light";
	const [theme, update] = useState(now);

	useEffect(() => {
		const observer = new MutationObserver(() => update(now()));
		observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
		return () => observer.disconnect();
	}, []);
	return theme;
}

export function useSize(ref: RefObject<HTMLElement | null>): { width: number; height: number } {
	const [size, update] = useState({ width: 0, height: 0 });

	useEffect(() => {
		const element = ref.current!;
		const observer = new ResizeObserver(() => {
			const { clientWidth: width, clientHeight: height } = element;
			update((old) => (old.width === width && old.height === height ? old : { width, height }));
		});
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	return size;
}

/** A colour of the style sheet as it is at an element, for canvases. */
export const colour = (name: string, at: Element = document.documentElement) =>
	getComputedStyle(at).getPropertyValue(`--${name}`).trim();

let announcer: HTMLElement | null = null;

export function setAnnouncer(element: HTMLElement | null): void {
	announcer = element;
}

/** Said by screen readers. */
export function announce(sentence: string): void {
	if (announcer) announcer.textContent = sentence;
}

/** Puts text on the clipboard, also where the page is a local file. */
export async function copyText(content: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(content);
	} catch {
		const area = document.createElement("textarea");
		area.value = content;
		area.className = "hidden-text";
		(document.querySelector("dialog[open]") ?? document.body).append(area);
		const focus = document.activeElement as HTMLElement | null;
		area.select();
		document.execCommand("copy");
		area.remove();
		focus?.focus();
	}
	announce("copied");
}
