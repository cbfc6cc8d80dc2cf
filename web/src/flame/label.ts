// SPDX-License-Identifier: MIT
// What of a name fits into a box. A C++ name says most at its right end: "push_back" before
// "vector<…>::push_back", so what does not fit loses its scopes first, then its end.

const NESTED = /[<({[]/;

/** "a::b<c::d>::e" as its endings: itself, "b<c::d>::e", "e"; of a module with an offset the offset. */
export function endings(name: string): string[] {
	const found = [name];
	const offset = / \+ (0x[0-9a-f]+)$/.exec(name);
	let depth = 0;

	// "libfoo.so + 0x1a2b", of what has no name.
	if (offset) return [name, offset[1]];
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		// The brackets of operator<, operator() and the like are no nesting.
		if (depth === 0 && name.startsWith("operator", i) && /^operator\W/.test(name.slice(i, i + 9))) break;
		if (NESTED.test(c)) depth++;
		else if (">)}]".includes(c)) depth = Math.max(0, depth - 1);
		else if (depth === 0 && c === ":" && name[i + 1] === ":" && i + 2 < name.length) {
			found.push(name.slice(i + 2));
			i++;
		}
	}
	return found;
}

/** Widths of texts in a font, from those of their characters: kerning is too little to matter. */
export class Ruler {
	#measure: (text: string) => number;
	#ascii = new Float32Array(128).fill(-1);
	#others = new Map<string, number>();

	constructor(measure: (text: string) => number) {
		this.#measure = measure;
	}

	#character(text: string, i: number): number {
		const code = text.charCodeAt(i);
		if (code < 128) {
			if (this.#ascii[code] < 0) this.#ascii[code] = this.#measure(text[i]);
			return this.#ascii[code];
		}
		let width = this.#others.get(text[i]);
		if (width === undefined) {
			width = this.#measure(text[i]);
			this.#others.set(text[i], width);
		}
		return width;
	}

	width(text: string): number {
		let width = 0;
		for (let i = 0; i < text.length; i++) width += this.#character(text, i);
		return width;
	}

	/** The longest beginning that fits, with "…" where something is missing; "" where less than two do. */
	cut(text: string, room: number): string {
		const dots = this.width("…");
		let width = 0;
		let fits = 0;

		for (let i = 0; i < text.length; i++) {
			width += this.#character(text, i);
			if (width + dots <= room) fits = i + 1;
			if (width > room) return fits >= 2 ? `${text.slice(0, fits)}…` : "";
		}
		return text;
	}

	/** The name as it fits into `room`. */
	fit(name: string, room: number): string {
		const parts = endings(name);
		for (const part of parts) if (this.width(part) <= room) return part;
		return this.cut(parts[parts.length - 1], room);
	}
}
