// SPDX-License-Identifier: MIT
// Frames and functions as columns: which function a frame belongs to, what both are called, where
// they stand. Frames of one function at different lines share its number.
import { basename, visible } from "../format";
import type { Origin } from "../document";
import { array, type Damage, figure, isIndex, type Loose, object, text } from "./read";

const ORIGINS = "oilsap";
const NAME_CHARACTERS_MAX = 4000;

export interface FrameText {
	/** With parameters and template arguments; of a nameless frame its module and address. */
	name: string;
	/** "src/load.c:12"; the module's name where no file is known; else "". */
	place: string;
	origin: Origin;
	/** Path of the module, or "". */
	module: string;
}

export interface StackPart {
	/** Place of the innermost of its frames. */
	at: number;
	count: number;
	via: boolean;
}

/** Text from the document: bounded, with nothing in it that has no shape. */
export function shown(raw: string): string {
	return visible(raw.length > NAME_CHARACTERS_MAX ? `${raw.slice(0, NAME_CHARACTERS_MAX)}…` : raw);
}

/** Below the directory that the program was started in; or, of Rust's library, below its build's. */
function below(path: string, directory: string): string {
	if (directory.length >= 2 && path.startsWith(`${directory}/`)) return path.slice(directory.length + 1);
	return path.replace(/^\/rustc\/[^/]*\//, "");
}

export class Frames {
	readonly count: number;
	/** By frame the number of its function. */
	readonly functionOf: Uint32Array;
	/** By frame the number of its line; 0 not known. */
	readonly lineOf: Uint32Array;
	/** By frame the index of its module; -1 not known. */
	readonly moduleOf: Int32Array;
	readonly functionCount: number;
	/** By function one of its frames; -1: none. */
	readonly frameOf: Int32Array;
	/** By function a character code of `Origin`. */
	readonly originOf: Uint8Array;
	/** By module its path, "" where that is not known. */
	readonly modules: string[];

	/** By frame, as in the document. */
	readonly #passes: string;
	#raw: unknown[];
	#cwd: string;
	#briefs: unknown[];
	#names: (string | undefined)[] = [];
	#haystacks: string[] | null = null;
	#lowered: string[] | null = null;

	constructor(document: Loose, view: Loose, damage: Damage) {
		this.#raw = array(document.frames);
		this.#briefs = array(view.functions);
		this.#cwd = text(object(document.process).cwd) ?? "";
		this.modules = array(document.modules).map((module) => text(object(module).path) ?? "");
		this.count = this.#raw.length;
		this.functionOf = new Uint32Array(this.count);
		this.lineOf = new Uint32Array(this.count);
		this.moduleOf = new Int32Array(this.count).fill(-1);
		this.#readFrames(damage);
		this.functionCount = this.#numberFunctions(array(view.function), damage);
		this.frameOf = new Int32Array(this.functionCount).fill(-1);
		this.originOf = new Uint8Array(this.functionCount).fill("o".charCodeAt(0));
		this.#readOrigins(text(view.origin) ?? "", damage);
		this.#passes = text(view.passes) ?? "";
	}

	#readFrames(damage: Damage): void {
		for (let i = 0; i < this.count; i++) {
			const frame = object(this.#raw[i]);
			if (frame !== this.#raw[i]) damage.note("a frame is no object");
			if (isIndex(frame.line, 2 ** 32)) this.lineOf[i] = frame.line;
			if (isIndex(frame.module, this.modules.length)) this.moduleOf[i] = frame.module;
			else if (frame.module != null) damage.note("a frame names a module that is not there");
		}
	}

	/** Frames without a sound number are functions of their own, by what they say of themselves. */
	#numberFunctions(numbers: unknown[], damage: Damage): number {
		const known = this.#briefs.length;
		const others = new Map<string, number>();

		for (let i = 0; i < this.count; i++) {
			const number = numbers[i];
			if (isIndex(number, known)) {
				this.functionOf[i] = number;
				continue;
			}
			const frame = object(this.#raw[i]);
			const key = JSON.stringify(
				text(frame.function) !== null
					? [this.moduleOf[i], frame.function, text(frame.file)]
					: [this.moduleOf[i], figure(frame.address)],
			);
			const other = others.get(key) ?? known + others.size;
			others.set(key, other);
			this.functionOf[i] = other;
		}
		if (others.size > 0) damage.note("a frame has no number of its function", others.size);
		return known + others.size;
	}

	#readOrigins(letters: string, damage: Damage): void {
		if (letters.length !== this.count) damage.note("not every frame has an origin");
		for (let i = this.count - 1; i >= 0; i--) {
			const letter = letters[i] ?? "o";
			this.frameOf[this.functionOf[i]] = i;
			if (ORIGINS.includes(letter)) this.originOf[this.functionOf[i]] = letter.charCodeAt(0);
			else damage.note("an origin is unknown");
		}
	}

	#rawOf(frame: number): Loose {
		return object(this.#raw[frame]);
	}

	/** The brief name of a function. */
	name(fn: number): string {
		return (this.#names[fn] ??= shown(text(this.#briefs[fn]) ?? this.#spell(this.frameOf[fn])));
	}

	#spell(frame: number): string {
		const raw = this.#rawOf(frame);
		const name = text(raw.function);
		const module = basename(this.modules[this.moduleOf[frame]] ?? "");

		if (name !== null) return name;
		const at = `0x${figure(module && raw.offset != null ? raw.offset : raw.address).toString(16)}`;
		return module ? `${module} + ${at}` : at;
	}

	/** The file as a reader knows it, "" where it is not known. */
	file(frame: number): string {
		const file = text(this.#rawOf(frame).file);
		return file === null ? "" : shown(below(file, this.#cwd));
	}

	module(frame: number): string {
		return shown(this.modules[this.moduleOf[frame]] ?? "");
	}

	place(frame: number): string {
		const file = this.file(frame);
		if (file) return this.lineOf[frame] ? `${file}:${this.lineOf[frame]}` : file;
		return text(this.#rawOf(frame).function) === null ? "" : basename(this.module(frame));
	}

	origin(fn: number): Origin {
		return String.fromCharCode(this.originOf[fn] ?? 0x6f) as Origin;
	}

	/**
	 * The parts of a stack that read as one line: a frame, or with `via` the library code between two
	 * of its callers. `frames` is the part worth reading, innermost first.
	 */
	parts(frames: ArrayLike<number>): StackPart[] {
		const parts: StackPart[] = [];
		const digit = (at: number) => Number(this.#passes[frames[at]] ?? 0);
		const own = frames.length > 0 && this.origin(this.functionOf[frames[0]]) === "o";
		const least = digit(0) >= 3 ? 3 : own ? 1 : 2;

		for (let at = 0; at < frames.length; at++) {
			const via = at > 0 && digit(at) % 3 >= least;
			const last = parts[parts.length - 1];
			if (via && last.via) last.count++;
			else parts.push({ at, count: 1, via });
		}
		return parts;
	}

	text(frame: number): FrameText {
		return {
			name: shown(this.#spell(frame)),
			place: this.place(frame),
			origin: this.origin(this.functionOf[frame]),
			module: this.module(frame),
		};
	}

	/** By function what a search looks through: whole and brief name, file, module; as they are. */
	get haystacks(): string[] {
		return (this.#haystacks ??= Array.from({ length: this.functionCount }, (_, fn) => this.#haystack(fn)));
	}

	/** The same in lower case. */
	get lowered(): string[] {
		return (this.#lowered ??= this.haystacks.map((haystack) => haystack.toLowerCase()));
	}

	#haystack(fn: number): string {
		const frame = this.frameOf[fn];
		if (frame < 0) return this.name(fn);
		const raw = this.#rawOf(frame);
		const brief = text(this.#briefs[fn]) ?? this.#spell(frame);
		const parts = [brief, text(raw.function) ?? "", text(raw.file) ?? "", this.modules[this.moduleOf[frame]] ?? ""];
		return parts.map((part) => part.slice(0, NAME_CHARACTERS_MAX)).join("\n");
	}
}
