// SPDX-License-Identifier: MIT
// What the page carries in blocks of base64 of gzip: style, script and data. Each way in which reading
// can fail has its sentence.

export class PageError extends Error {
	constructor(
		message: string,
		readonly advice: string,
	) {
		super(message);
	}
}

const AGAIN = "Write the page again, or see the same figures in a terminal: seep report FILE";

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
	type Newer = { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
	const newer = (Uint8Array as Newer).fromBase64;

	if (newer) return newer.call(Uint8Array, text);
	const binary = atob(text);
	const out = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
	return out;
}

async function unzip(packed: Uint8Array<ArrayBuffer>): Promise<string> {
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return await new Response(stream).text();
}

/** The text of the block with that id. */
export async function unpack(id: string): Promise<string> {
	const text = document.getElementById(id)?.textContent?.trim() ?? null;

	if (text === null) throw new PageError("This page has been cut off: a part of it is missing.", AGAIN);
	if (text.startsWith("@@"))
		throw new PageError("This is the page without data.", "seep report FILE --html OUT.html fills it.");
	if (!text) throw new PageError("This page holds no data.", AGAIN);
	if (typeof DecompressionStream === "undefined")
		throw new PageError(
			"This browser is too old for this page: it has no DecompressionStream.",
			"Firefox 113, Chrome 103, Safari 16.4 and later have it. In a terminal: seep report FILE",
		);
	try {
		return await unzip(decodeBase64(text));
	} catch {
		throw new PageError("This page is damaged or cut off: a part of it cannot be unpacked.", AGAIN);
	}
}

/** boot.ts begins to unpack the data before there is a script to read it. */
declare global {
	interface Window {
		seepText?: Promise<string>;
	}
}

export async function readPageData(): Promise<unknown> {
	const json = await (window.seepText ?? unpack("seep-data"));

	try {
		return JSON.parse(json);
	} catch {
		throw new PageError("The data in this page is damaged: it is not JSON.", AGAIN);
	}
}

/** Says in place of the page why there is none. */
export function showFailure(error: unknown): void {
	// Not instanceof: both scripts have a class of their own.
	const known = error instanceof Error && "advice" in error;
	const box = document.createElement("div");
	const title = document.createElement("h1");
	const advice = document.createElement("p");

	box.className = "state";
	box.setAttribute("role", "alert");
	title.textContent = known ? error.message : "This page cannot show its data.";
	advice.textContent = known ? String(error.advice) : String(error);
	box.append(title, advice);
	document.getElementById("app")!.replaceChildren(box);
}
