// SPDX-License-Identifier: MIT
// The data block of the page: base64 of gzip of JSON. Each way in which it can fail has its sentence.

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

	try {
		const newer = (Uint8Array as Newer).fromBase64;
		if (newer) return newer.call(Uint8Array, text);
		const binary = atob(text);
		const out = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
		return out;
	} catch {
		throw new PageError("The data in this page is damaged: it is not base64.", AGAIN);
	}
}

async function unzip(packed: Uint8Array<ArrayBuffer>): Promise<string> {
	try {
		const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
		return await new Response(stream).text();
	} catch {
		throw new PageError("The data in this page is damaged or cut off: it cannot be unpacked.", AGAIN);
	}
}

export async function readPageData(): Promise<unknown> {
	const element = document.getElementById("seep-data");
	const text = element?.textContent?.trim() ?? "";

	if (!element)
		throw new PageError("This page has been cut off: the place of its data is missing.", AGAIN);
	if (text.startsWith("@@"))
		throw new PageError("This is the page without data.", "seep report FILE --html OUT.html fills it.");
	if (!text) throw new PageError("This page holds no data.", AGAIN);
	if (typeof DecompressionStream === "undefined")
		throw new PageError(
			"This browser is too old for this page: it has no DecompressionStream.",
			"Firefox 113, Chrome 103, Safari 16.4 and later have it. In a terminal: seep report FILE",
		);
	const json = await unzip(decodeBase64(text));
	try {
		return JSON.parse(json);
	} catch {
		throw new PageError("The data in this page is damaged: it is not JSON.", AGAIN);
	}
}
