// SPDX-License-Identifier: MIT
export function App({ data }: { data: any }) {
	return <pre>{data.view.head.join("\n")}</pre>;
}
