// SPDX-License-Identifier: MIT
// One Chromium for all tests. Each test opens pages in a context of its own; whatever a page complains
// of, and whatever it asks for beyond its own file, fails the test.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const FLAGS = [
	"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync",
];
const LIMIT_MS = 20_000;

export const launch = (executablePath) => chromium.launch({ executablePath, args: FLAGS });

/** In the page, before its own scripts. */
function listen() {
	window.violations = [];
	addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
}

/** What one test does in the browser. */
export class Session {
	#browser;
	#config;
	#open = [];
	#files = new Map();
	problems = [];

	constructor(browser, config) {
		this.#browser = browser;
		this.#config = config;
	}

	/** The document that `--json` printed for the page of that name. */
	document(name) {
		return this.#config.pages[name].document;
	}

	/** A folder for files of its own. */
	get scratch() {
		return this.#config.scratch;
	}

	path(name) {
		return this.#config.pages[name].page;
	}

	/** Another page in the same tab. */
	async go(page, name, { hash = "", wait = "[role=tabpanel]" } = {}) {
		const url = pathToFileURL(this.#config.pages[name]?.page ?? name).href;
		this.#files.set(page, url);
		await page.goto(`${url}${hash && `#${hash}`}`);
		if (wait) await page.waitForSelector(wait);
	}

	/** A page of that name, or at a path; `options` are playwright's for a context, and those of go(). */
	async open(name, { hash, wait, ...options } = {}) {
		const context = await this.#browser.newContext({
			viewport: { width: 1280, height: 800 }, colorScheme: "light",
			permissions: ["clipboard-read", "clipboard-write"], ...options,
		});
		const page = await context.newPage();
		page.setDefaultTimeout(LIMIT_MS);
		page.on("console", (message) => {
			if (["error", "warning", "assert"].includes(message.type())) this.problems.push(`console: ${message.text()}`);
		});
		page.on("pageerror", (error) => this.problems.push(`exception: ${error.stack ?? error}`));
		page.on("request", (request) => {
			const asked = request.url().split("#")[0];
			if (asked !== this.#files.get(page) && !asked.startsWith("data:")) this.problems.push(`request: ${asked.slice(0, 200)}`);
		});
		page.on("dialog", (dialog) => {
			this.problems.push(`dialog: ${dialog.message()}`);
			void dialog.dismiss();
		});
		await page.addInitScript(listen);
		this.#open.push(page);
		await this.go(page, name, { hash, wait });
		return page;
	}

	/** Ends the test: every page has been content. */
	async finish() {
		for (const page of this.#open.filter((one) => !one.isClosed())) {
			const violations = await page.evaluate(() => window.violations ?? []);
			this.problems.push(...violations.map((text) => `policy: ${text}`));
		}
		await this.close();
		assert.deepEqual(this.problems, [], "the page complained, or asked for something");
	}

	async close() {
		await Promise.all(this.#open.map((page) => page.context().close()));
		this.#open = [];
	}

	async picture(path) {
		await this.#open.at(-1)?.screenshot({ path }).catch(() => {});
	}
}
