// SPDX-License-Identifier: MIT
// Builds the page of seep report --html: script and style, bundled and packed, in template.html, which
// goes to assets/report.html. The same bytes from any folder and in any run, which `make web` relies on.
// The hashes of scripts and styles are all that the page's policy allows.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { gzipSync } from "fflate";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? fileURLToPath(new URL("../assets/report.html", import.meta.url));

async function bundle(entry) {
	const result = await build({
		absWorkingDir: here,
		entryPoints: [entry],
		bundle: true,
		minify: true,
		write: false,
		charset: "utf8",
		format: "iife",
		jsx: "automatic",
		jsxImportSource: "preact",
		legalComments: "none",
		target: ["chrome103", "firefox113", "safari16.4"],
		logLevel: "warning",
	});
	return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function checked(text, what) {
	for (const bad of ["<!--", "</script", "</style", "@@SEEP_DATA@@"])
		if (text.includes(bad)) throw new Error(`the ${what} contains ${bad}`);
	return text;
}

// Not node's zlib, whose bytes differ from one version of node to the next.
const packed = (text) => Buffer.from(gzipSync(Buffer.from(text), { level: 9, mtime: 0 })).toString("base64");

const boot = checked(await bundle("src/boot.ts"), "first script");
const first = checked(await bundle("style/first.css"), "first style");
const script = await bundle("src/main.tsx");
const style = await bundle("style.css");

const policy = [
	"default-src 'none'",
	`script-src ${hash(boot)} ${hash(script)}`,
	`style-src ${hash(first)} ${hash(style)}`,
	"img-src data:",
	"base-uri 'none'",
	"form-action 'none'",
].join("; ");
const parts = { POLICY: policy, BOOT: boot, FIRST: first, SCRIPT: packed(script), STYLE: packed(style) };
const page = readFileSync(new URL("template.html", import.meta.url), "utf8").replace(
	/@@(POLICY|BOOT|FIRST|SCRIPT|STYLE)@@/g,
	(_, name) => parts[name],
);
if (page.split("@@SEEP_DATA@@").length !== 2) throw new Error("no single place for the data");
mkdirSync(new URL(".", new URL(`file://${out.startsWith("/") ? out : `${process.cwd()}/${out}`}`)), {
	recursive: true,
});
writeFileSync(out, page);
console.log(`${out}: ${(page.length / 1024).toFixed(1)} KB`);
