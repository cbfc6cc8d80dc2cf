// SPDX-License-Identifier: MIT
// node dev.mjs SEEP FILE OUT, or: SEEP BEFORE AFTER OUT: the page of a recording, or of a diff.
// Makes up the "view" part that seep writes itself, so that the page can be tried without it.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [seep, ...rest] = process.argv.slice(2);
const out = rest.pop();
const big = { maxBuffer: 1 << 30, encoding: "utf8" };
const diff = rest.length === 2;
const run = (...args) => execFileSync(seep, args, big);
const document = JSON.parse(diff ? run("diff", ...rest, "--json") : run("report", rest[0], "--json"));
const names = new Map();
const frames = document.frames;
const brief = (frame) => {
	const module = document.modules[frame.module]?.path ?? "";
	if (!frame.function) return `${module.split("/").pop()} + 0x${(frame.offset ?? frame.address).toString(16)}`;
	return frame.function.replace(/\(.*/, "").replace(/<.*>/, "<…>");
};
const fn = frames.map((frame) => {
	const key = frame.function ?? `${frame.module}+${frame.offset}`;
	if (!names.has(key)) names.set(key, [names.size, brief(frame)]);
	return names.get(key)[0];
});
const own = document.process?.exe ?? document.after?.exe;
const origin = frames.map((frame) => {
	const path = document.modules[frame.module]?.path ?? "";
	if (/^operator new|^__gnu_cxx::new_allocator|^x?malloc$|^xcalloc$|^__(str|strn)dup$/.test(frame.function ?? "")) return "a";
	if (/^(_start|__libc_start|start_thread|clone)/.test(frame.function ?? "")) return "p";
	if (/lib(c|m|pthread)[.-]|ld-linux/.test(path)) return "s";
	if (/^std::|libstdc\+\+/.test(frame.function ?? "") || /libstdc/.test(path)) return "l";
	return path === own ? "o" : "i";
});
const trim = [];
for (const { frames: stack } of document.contexts ?? document.changes) {
	let first = 0;
	let end = stack.length;
	while (first < stack.length - 1 && "als".includes(origin[stack[first]])) first++;
	while (end > first + 1 && origin[stack[end - 1]] === "p") end--;
	if (first >= end) first = 0;
	trim.push(first, end);
}
const text = run(diff ? "diff" : "report", ...rest).split("\n");
const view = {
	kind: diff ? "diff" : "report",
	file: diff ? rest : rest[0],
	answer: document.leaks?.length ? text.find((line) => /^(No|\d[\d,]*) leaks?/.test(line)) ?? null : null,
	head: text.slice(0, text.findIndex((line, i) => i > 1 && !line)).filter(Boolean),
	foot: text.slice(-8).filter((line) => /overhead|seen|Next/i.test(line)),
	trim,
	function: fn,
	functions: [...names.values()].map(([, name]) => name),
	origin: origin.join(""),
};
const page = readFileSync(new URL("../assets/report.html", import.meta.url), "utf8");
const data = gzipSync(JSON.stringify({ view, document })).toString("base64");
writeFileSync(out, page.replace("@@SEEP_DATA@@", () => data));
