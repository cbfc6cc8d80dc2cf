// SPDX-License-Identifier: MIT
// The built page in a real browser, for tests: no test may leave a message in the console, or ask for
// anything.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

export const template = readFileSync(new URL("../../assets/report.html", import.meta.url), "utf8");
const ARGS = [
	"--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync",
];
let browser;
let folder;
let pages = 0;

export async function openBrowser() {
	folder = mkdtempSync(join(tmpdir(), "seep-browse-"));
	browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
}

export async function closeBrowser() {
	await browser.close();
	rmSync(folder, { recursive: true });
}

/** The page with data in it, an object or any text. */
export const fill = (data) =>
	template.replace("@@SEEP_DATA@@", () => gzipSync(typeof data === "string" ? data : JSON.stringify(data)).toString("base64"));

/** Opens the page in a tab of its own, which is closed after the work. */
export async function visit(html, work, { init, hash = "", ...options } = {}) {
	const path = join(folder, `${pages++}.html`);
	writeFileSync(path, html);
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	const page = await context.newPage();
	const messages = [];
	page.on("console", (message) => messages.push(message.text()));
	page.on("pageerror", (error) => messages.push(error.stack));
	page.on("dialog", (dialog) => messages.push(`dialog ${dialog.message()}`));
	page.on("request", (request) => /^(file|data):/.test(request.url()) || messages.push(`request ${request.url()}`));
	if (init) await page.addInitScript(init);
	try {
		await page.goto(`file://${path}${hash}`);
		if (options.javaScriptEnabled !== false) await page.waitForSelector("#panel-overview, #panel-flame, [role=alert]");
		await work(page);
		assert.deepEqual(messages, []);
	} finally {
		await context.close();
	}
}

export const state = (page) => page.evaluate(() => ({ ...window.seep.store.state }));

export async function keys(page, ...names) {
	for (const name of names) await page.keyboard.press(name);
}
