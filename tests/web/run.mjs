// SPDX-License-Identifier: MIT
// Runs browser tests: `node run.mjs CONFIG`, where the file CONFIG says which pages there are, and
// which tests to run. For each test it prints a line of JSON: its name, and null or what went wrong.
import { readdirSync, readFileSync } from "node:fs";
import { launch, Session } from "./browser.mjs";
import { tests } from "./registry.mjs";
import { merged } from "./truth.mjs";

const TEST_LIMIT_MS = 60_000;
const AT_ONCE = 1;
const config = JSON.parse(readFileSync(process.argv[2], "utf8"));

for (const page of Object.values(config.pages)) page.document &&= merged(JSON.parse(readFileSync(page.document, "utf8")));
for (const file of readdirSync(new URL(".", import.meta.url)).sort())
	if (file.startsWith("test_")) await import(`./${file}`);

function tooLong() {
	let timer;
	const promise = new Promise((_, fail) => {
		timer = setTimeout(() => fail(new Error(`no end after ${TEST_LIMIT_MS / 1000} s`)), TEST_LIMIT_MS);
	});
	return { promise, stop: () => clearTimeout(timer) };
}

async function run(browser, { name, body }) {
	const session = new Session(browser, config);
	const limit = tooLong();
	const begun = performance.now();
	let problem = null;

	try {
		await Promise.race([body(session).then(() => session.finish()), limit.promise]);
	} catch (error) {
		problem = [error.stack ?? String(error), ...session.problems].join("\n");
		if (config.pictures) await session.picture(`${config.pictures}/${name.replace(/\W+/g, "-").slice(0, 80)}.png`);
	}
	limit.stop();
	await session.close().catch(() => {});
	console.log(JSON.stringify({ name, problem, ms: Math.round(performance.now() - begun) }));
}

const browser = await launch(config.chromium);
const wanted = tests.filter(({ name }) => !config.only || config.only.includes(name));
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
	for (let next = wanted.shift(); next; next = wanted.shift()) await run(browser, next);
}));
await browser.close();
