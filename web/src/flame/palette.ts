// SPDX-License-Identifier: MIT
// Colours of boxes. All fills of a theme are light enough (or dark enough) for that theme's one
// colour of text, contrast 4.5:1 or more, which a test checks. Hues are blue, ochre and grey with
// lightness apart as well, so that no kind of colour blindness makes two meanings one.

/** Lightness 0 to 1, chroma, hue in degrees of OKLCH (Björn Ottosson, 2020), as sRGB. */
export function oklch(lightness: number, chroma: number, hue: number): string {
	const a = chroma * Math.cos((hue * Math.PI) / 180);
	const b = chroma * Math.sin((hue * Math.PI) / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const linear = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
	];
	const hex = linear.map((part) => {
		const bounded = Math.min(1, Math.max(0, part));
		const encoded = bounded <= 0.0031308 ? 12.92 * bounded : 1.055 * bounded ** (1 / 2.4) - 0.055;
		return Math.round(encoded * 255).toString(16).padStart(2, "0");
	});
	return `#${hex.join("")}`;
}

/** What a box is told by: its code's origin, or the sign and size of its change. */
export const SHADES = 6;
const STEPS = 8;
const MODULES = 8;

export type Kind = "o" | "i" | "l" | "s" | "a" | "p";

interface Tone {
	lightness: number;
	chroma: number;
	hue: number;
	/** How far shades of one tone are apart in lightness, from first to last. */
	spread: number;
}

export interface Palette {
	/** By kind of origin the shades. */
	origin: Record<Kind, string[]>;
	module: string[][];
	/** From unchanged to wholly new, and to wholly gone. */
	grew: string[];
	shrank: string[];
	special: string;
	root: string;
	dim: string;
	match: string;
	text: string;
	/** Of values behind names. */
	softText: string;
	dimText: string;
	matchText: string;
	background: string;
	focus: string;
	focusGap: string;
	lost: string;
}

const LIGHT: Record<Kind, Tone> = {
	o: { lightness: 0.8, chroma: 0.095, hue: 250, spread: 0.09 },
	i: { lightness: 0.86, chroma: 0.085, hue: 85, spread: 0.07 },
	l: { lightness: 0.885, chroma: 0.035, hue: 250, spread: 0.04 },
	s: { lightness: 0.855, chroma: 0.006, hue: 250, spread: 0.05 },
	a: { lightness: 0.79, chroma: 0.006, hue: 250, spread: 0.04 },
	p: { lightness: 0.91, chroma: 0.004, hue: 250, spread: 0.03 },
};

const DARK: Record<Kind, Tone> = {
	o: { lightness: 0.47, chroma: 0.105, hue: 255, spread: 0.09 },
	i: { lightness: 0.45, chroma: 0.07, hue: 80, spread: 0.07 },
	l: { lightness: 0.385, chroma: 0.045, hue: 255, spread: 0.04 },
	s: { lightness: 0.4, chroma: 0.006, hue: 255, spread: 0.05 },
	a: { lightness: 0.34, chroma: 0.006, hue: 255, spread: 0.04 },
	p: { lightness: 0.3, chroma: 0.004, hue: 255, spread: 0.03 },
};

const shades = ({ lightness, chroma, hue, spread }: Tone): string[] =>
	Array.from({ length: SHADES }, (_, i) =>
		oklch(lightness + spread * (i / (SHADES - 1) - 0.5), chroma, hue),
	);

const ramp = (from: Tone, to: Tone): string[] =>
	Array.from({ length: STEPS }, (_, i) => {
		const at = i / (STEPS - 1);
		const mix = (a: number, b: number) => a + (b - a) * at;
		return oklch(mix(from.lightness, to.lightness), mix(from.chroma, to.chroma), to.hue);
	});

/** Hues far apart, in turns lighter and darker, for modules. */
const moduleTones = (tone: Tone): string[][] =>
	Array.from({ length: MODULES }, (_, i) =>
		shades({
			lightness: tone.lightness + (i % 2 ? 0.035 : -0.02),
			chroma: tone.chroma * 0.9,
			hue: (250 + i * 135) % 360,
			spread: 0.04,
		}),
	);

const origins = (tones: Record<Kind, Tone>) =>
	Object.fromEntries(
		Object.entries(tones).map(([kind, tone]) => [kind, shades(tone)]),
	) as Record<Kind, string[]>;

const tone = (lightness: number, chroma: number, hue: number): Tone => ({
	lightness, chroma, hue, spread: 0,
});

export const light: Palette = {
	origin: origins(LIGHT),
	module: moduleTones(LIGHT.o),
	grew: ramp(tone(0.92, 0.012, 60), tone(0.76, 0.155, 55)),
	shrank: ramp(tone(0.92, 0.012, 250), tone(0.72, 0.12, 250)),
	special: oklch(0.88, 0.004, 250),
	root: oklch(0.9, 0.006, 250),
	dim: "#eceff1",
	match: "#ffd34d",
	text: "#14181c",
	softText: "#303942",
	dimText: "#5a646e",
	matchText: "#14181c",
	background: "#ffffff",
	focus: "#0b3d75",
	focusGap: "#ffffff",
	lost: "#a8480a",
};

export const dark: Palette = {
	origin: origins(DARK),
	module: moduleTones(DARK.o),
	grew: ramp(tone(0.33, 0.01, 60), tone(0.53, 0.125, 55)),
	shrank: ramp(tone(0.33, 0.01, 250), tone(0.5, 0.125, 255)),
	special: oklch(0.33, 0.004, 250),
	root: oklch(0.32, 0.006, 250),
	dim: "#20262b",
	match: "#ffd34d",
	text: "#f6f8fa",
	softText: "#f6f8fa",
	dimText: "#93a0ac",
	matchText: "#14181c",
	background: "#171b1f",
	focus: "#ffffff",
	focusGap: "#101316",
	lost: "#ffab57",
};

/** A number from 0 to below `limit` that looks random and is always the same. */
export function scatter(number: number, limit: number): number {
	const mixed = Math.imul((number + 1) ^ ((number + 1) >>> 15), 0x2c1b3c6d);
	return ((mixed ^ (mixed >>> 12)) >>> 0) % limit;
}

/** The step of a ramp for a share of change from 0 to 1. */
export const step = (share: number) => Math.min(STEPS - 1, Math.max(0, Math.ceil(share * (STEPS - 1))));

export const moduleShades = (palette: Palette, module: number) =>
	module < 0 ? palette.origin.s : palette.module[module % MODULES];

/** Contrast of two colours written #rrggbb, by WCAG 2. */
export function contrast(a: string, b: string): number {
	const luminance = (text: string) => {
		const [red, green, blue] = [1, 3, 5].map((at) => {
			const part = parseInt(text.slice(at, at + 2), 16) / 255;
			return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
	return (high + 0.05) / (low + 0.05);
}
