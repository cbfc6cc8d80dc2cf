// SPDX-License-Identifier: MIT
// Unpacks style and script of the page, which run only because the policy names their hashes.
import { showFailure, unpack } from "./data";

async function add(name: "style" | "script"): Promise<void> {
	const element = document.createElement(name);

	element.textContent = await unpack(`seep-${name}`);
	document.head.append(element);
}

/** Only seen where reading takes long. */
function sayReading(): void {
	const line = document.createElement("p");
	line.className = "state";
	line.setAttribute("role", "status");
	line.textContent = "Reading the report…";
	document.getElementById("app")!.append(line);
}

async function start(): Promise<void> {
	window.seepText = unpack("seep-data");
	// Whoever reads it says what is wrong with it.
	window.seepText.catch(() => {});
	try {
		await Promise.all([add("style"), add("script")]);
	} catch (error) {
		showFailure(error);
	}
}

sayReading();
addEventListener("DOMContentLoaded", start);
