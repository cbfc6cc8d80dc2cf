// SPDX-License-Identifier: MIT
// Takes a picture of a page that seep wrote, after `npm ci --ignore-scripts` in web/:
//   node docs/pictures/page.mjs PAGE.html OUT.png [click:SELECTOR | press:KEY | type:TEXT | drag:SELECTOR,FROM,TO]...
// Drags from and to are shares of the element's width.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("playwright-core");
const [, , file, out, ...steps] = process.argv;

async function drag(page, selector, from, to) {
	const box = await page.locator(selector).first().boundingBox();
	const y = box.y + box.height / 2;
	await page.mouse.move(box.x + box.width * from, y);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * to, y, { steps: 8 });
	await page.mouse.up();
}

async function step(page, words) {
	const [, verb, rest] = /^(\w+):(.*)$/s.exec(words);
	if (verb === "click") await page.locator(rest).first().click();
	else if (verb === "press") await page.keyboard.press(rest);
	else if (verb === "type") await page.keyboard.type(rest);
	else if (verb === "drag") {
		const [selector, from, to] = rest.split(",");
		await drag(page, selector, Number(from), Number(to));
	} else throw new Error(`unknown step ${words}`);
	await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 700 }, colorScheme: "light" });
await page.goto(pathToFileURL(file).href);
await page.waitForSelector("[role=tabpanel]");
for (const words of steps) await step(page, words);
await page.mouse.move(2, 2);
await page.waitForTimeout(300);
await page.screenshot({ path: out });
await browser.close();
