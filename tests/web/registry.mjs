// SPDX-License-Identifier: MIT
// The list of browser tests. tests/e2e/test_page.py finds their names in the sources, so a name is a
// plain string behind `test(`.
export const tests = [];

/** `body` gets a Session. */
export function test(name, body) {
	tests.push({ name, body });
}
