// SPDX-License-Identifier: MIT
// What the colours of a flame graph say: only those that occur.
import { useEffect, useMemo, useState } from "preact/hooks";
import { basename, visible } from "../format";
import { useTheme } from "../views/hooks";
import type { Meaning } from "./box_facts";
import type { Tint } from "./paint";
import { dark, type Kind, light, moduleShades, type Palette, SHADES } from "./palette";

const KINDS: [kind: Kind, name: string][] = [
	["o", "own code"],
	["i", "installed library"],
	["l", "language library"],
	["s", "C library"],
	["a", "allocator"],
	["p", "before main"],
];
const MODULES_MAX = 6;

type Entry = [colour: string, name: string, hatched?: boolean];

function originEntries(meanings: Meaning[], palette: Palette): Entry[] {
	const met = new Uint8Array(128);
	for (const { tree, model } of meanings)
		for (let node = 0; node < tree.count; node++)
			if (tree.fn[node] >= 0) met[model.frames.originOf[tree.fn[node]]] = 1;
	return KINDS.filter(([kind]) => met[kind.charCodeAt(0)]).map(([kind, name]) => [
		palette.origin[kind][SHADES >> 1],
		name,
	]);
}

/** The modules that own most of what is drawn. */
function moduleEntries({ tree, model }: Meaning, palette: Palette): Entry[] {
	const own = new Map<number, number>();
	for (let node = 1; node < tree.count; node++) {
		const module = tree.frame[node] < 0 ? -1 : model.frames.moduleOf[tree.frame[node]];
		if (module >= 0) own.set(module, (own.get(module) ?? 0) + 1);
	}
	return [...own]
		.sort((a, b) => b[1] - a[1])
		.slice(0, MODULES_MAX)
		.map(([module]) => [
			moduleShades(palette, module)[SHADES >> 1],
			visible(basename(model.frames.modules[module] ?? "")),
		]);
}

const changeEntries = (palette: Palette): Entry[] => [
	[palette.grew[7], "+ all of it new"],
	[palette.grew[3], "+ grew"],
	[palette.shrank[3], "− shrank"],
	[palette.shrank[7], "− gone"],
];

/** While the page is drawn for paper, which is white. */
function usePrinting(): boolean {
	const [printing, set] = useState(false);

	useEffect(() => {
		const before = () => set(true);
		const after = () => set(false);
		addEventListener("beforeprint", before);
		addEventListener("afterprint", after);
		return () => {
			removeEventListener("beforeprint", before);
			removeEventListener("afterprint", after);
		};
	}, []);
	return printing;
}

function Swatch({ colour }: { colour: string }) {
	return (
		<svg width="12" height="12" aria-hidden="true">
			<rect width="12" height="12" rx="2" fill={colour} />
		</svg>
	);
}

interface Props {
	/** Of the graphs that it belongs to. */
	meanings: Meaning[];
	tint: Tint;
	searching: boolean;
}

export function Legend({ meanings, tint, searching }: Props) {
	const [meaning] = meanings;
	const theme = useTheme();
	const printing = usePrinting();
	const palette = theme === "dark" && !printing ? dark : light;
	const entries = useMemo((): Entry[] => {
		if (searching) return [[palette.match, "matches the search"], [palette.dim, "does not"]];
		if (meaning.sides) return changeEntries(palette);
		const list = tint === "module" ? moduleEntries(meaning, palette) : originEntries(meanings, palette);
		return meaning.lost ? [...list, [palette.lost, "lost", true]] : list;
	}, [...meanings, palette, tint, searching]);

	return (
		<ul class="legend" aria-label="Colours">
			{entries.map(([colour, name, hatched]) => (
				<li key={name}>
					{hatched ? (
						<svg width="16" height="12" aria-hidden="true">
							<rect y="8" width="4" height="3" fill={colour} />
							<rect x="6" y="8" width="4" height="3" fill={colour} />
							<rect x="12" y="8" width="4" height="3" fill={colour} />
						</svg>
					) : (
						<Swatch colour={colour} />
					)}{" "}
					{name}
				</li>
			))}
		</ul>
	);
}
