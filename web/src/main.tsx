// SPDX-License-Identifier: MIT
// Reads the data of the page and shows it, or says in a sentence why it cannot.
import { render } from "preact";
import { App } from "./app";
import { readPageData, showFailure } from "./data";

async function start(): Promise<void> {
	const root = document.getElementById("app")!;

	try {
		const data = await readPageData();
		root.textContent = "";
		render(<App data={data} />, root);
	} catch (error) {
		showFailure(error);
	}
}

void start();
