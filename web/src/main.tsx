// SPDX-License-Identifier: MIT
// Reads the data of the page and shows it, or says in a sentence why it cannot.
import { render } from "preact";
import { App } from "./app";
import { PageError, readPageData } from "./data";

function Failure({ error }: { error: unknown }) {
	const known = error instanceof PageError;

	return (
		<div class="state" role="alert">
			<h1>{known ? error.message : "This page cannot show its data."}</h1>
			<p>{known ? error.advice : String(error)}</p>
		</div>
	);
}

async function start(): Promise<void> {
	const root = document.getElementById("app")!;

	try {
		const data = await readPageData();
		root.textContent = "";
		render(<App data={data} />, root);
	} catch (error) {
		root.textContent = "";
		render(<Failure error={error} />, root);
	}
}

addEventListener("DOMContentLoaded", start);
