// SPDX-License-Identifier: MIT
// Parsers of three crates, for big_symbols.py: megabytes of DWARF.
use std::collections::{BTreeMap, HashMap};
fn main() {
    let text = std::env::args().nth(1).unwrap_or_default();
    let file: Result<syn::File, _> = syn::parse_str(&text);
    println!("{:?}", file);
    let json: Result<serde_json::Value, _> = serde_json::from_str(&text);
    println!("{:?}", json);
    let words = regex::Regex::new(&text).unwrap();
    let mut seen: BTreeMap<String, HashMap<usize, Vec<String>>> = BTreeMap::new();
    for found in words.find_iter(&text) {
        seen.entry(found.as_str().to_string()).or_default().entry(found.start()).or_default().push(text.clone());
    }
    println!("{:?}", seen);
}
