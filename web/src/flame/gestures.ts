// SPDX-License-Identifier: MIT
// Pointer, wheel and pinch on a canvas, told as what they mean. The wheel alone scrolls, as it does
// everywhere; with Ctrl (which is also what a trackpad's pinch sends) it scales.

export interface Meaning {
	hover: (x: number, y: number, pageX: number, pageY: number) => void;
	leave: () => void;
	pick: (x: number, y: number, touch: boolean) => void;
	scale: (factor: number, x: number) => void;
	pan: (pixels: number) => void;
}

/** A pointer that moves less between down and up has picked something. */
const STILL_PIXELS = 5;

export class Gestures {
	#target: HTMLElement;
	#meaning: Meaning;
	/** Pointers that are down, by id. */
	#down = new Map<number, { x: number; startX: number; startY: number }>();
	#moved = false;
	#listening = new AbortController();

	constructor(target: HTMLElement, meaning: Meaning) {
		const { signal } = this.#listening;

		this.#target = target;
		this.#meaning = meaning;
		target.addEventListener("pointerdown", this.#press, { signal });
		target.addEventListener("pointermove", this.#move, { signal });
		target.addEventListener("pointerup", this.#release, { signal });
		target.addEventListener("pointercancel", this.#forget, { signal });
		target.addEventListener("pointerleave", this.#leave, { signal });
		target.addEventListener("wheel", this.#wheel, { signal, passive: false });
	}

	end(): void {
		this.#listening.abort();
	}

	#press = (event: PointerEvent): void => {
		if (event.button !== 0) return;
		if (this.#down.size === 0) this.#moved = false;
		this.#down.set(event.pointerId, { x: event.offsetX, startX: event.offsetX, startY: event.offsetY });
	};

	#move = (event: PointerEvent): void => {
		const pointer = this.#down.get(event.pointerId);

		if (!pointer) {
			if (event.pointerType !== "touch")
				this.#meaning.hover(event.offsetX, event.offsetY, event.clientX, event.clientY);
			return;
		}
		const far = Math.hypot(event.offsetX - pointer.startX, event.offsetY - pointer.startY);
		if (far > STILL_PIXELS && !this.#moved) {
			this.#moved = true;
			this.#target.setPointerCapture(event.pointerId);
			this.#meaning.leave();
		}
		if (!this.#moved) return;
		if (this.#down.size === 2) this.#pinch(event);
		else this.#meaning.pan(pointer.x - event.offsetX);
		pointer.x = event.offsetX;
	};

	#pinch(event: PointerEvent): void {
		const [[, other]] = [...this.#down].filter(([id]) => id !== event.pointerId);
		const before = Math.abs(this.#down.get(event.pointerId)!.x - other.x);
		const now = Math.abs(event.offsetX - other.x);
		if (before > 8 && now > 8) this.#meaning.scale(now / before, (event.offsetX + other.x) / 2);
	}

	#release = (event: PointerEvent): void => {
		const pressed = this.#down.delete(event.pointerId);
		if (pressed && !this.#moved)
			this.#meaning.pick(event.offsetX, event.offsetY, event.pointerType === "touch");
	};

	#forget = (event: PointerEvent): void => {
		this.#down.delete(event.pointerId);
	};

	#leave = (): void => this.#meaning.leave();

	#wheel = (event: WheelEvent): void => {
		const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
		const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;

		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			this.#meaning.scale(Math.exp(-event.deltaY * unit * 0.004), event.offsetX);
		} else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
			event.preventDefault();
			this.#meaning.pan(sideways * unit);
		}
	};
}
