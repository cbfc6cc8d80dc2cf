// SPDX-License-Identifier: MIT
// Rust names for the symboliser's comparison: generics, closures, traits, the standard library.
use std::collections::{BTreeMap, HashMap};

mod deep {
    pub mod deeper {
        pub struct Counter<T> {
            pub seen: Vec<T>,
        }

        impl<T: Clone + Ord> Counter<T> {
            #[inline(always)]
            pub fn add(&mut self, value: &T) -> usize {
                self.seen.push(value.clone());
                self.seen.sort();
                self.seen.len()
            }
        }
    }
}

trait Speak {
    fn speak(&self) -> String;
}

impl Speak for u32 {
    fn speak(&self) -> String {
        format!("number {}", self)
    }
}

impl Speak for &str {
    fn speak(&self) -> String {
        self.chars().rev().collect()
    }
}

// Without data in it, its type's entry is an enumeration, and what is inlined stands in there.
#[derive(Clone, Copy)]
enum Shape {
    Round,
    Square,
    Odd,
}

impl Shape {
    #[inline(never)]
    fn from_name(name: &str) -> Shape {
        match name {
            "round" | "circle" | "disc" => Shape::Round,
            "square" | "box" | "quadrat" => Shape::Square,
            _ => Shape::Odd,
        }
    }
}

fn main() {
    let mut counter = deep::deeper::Counter { seen: Vec::new() };
    let mut words: HashMap<String, usize> = HashMap::new();
    let mut tree = BTreeMap::new();
    for word in std::env::args().flat_map(|a| a.split('/').map(String::from).collect::<Vec<_>>()) {
        let count = counter.add(&word);
        *words.entry(word.clone()).or_insert(0) += count;
        tree.insert(count, word);
    }
    let all: Vec<Box<dyn Speak>> = vec![Box::new(3u32), Box::new("abc")];
    let text: Vec<String> = all.iter().map(|s| s.speak()).collect();
    let shapes: usize = words.keys().map(|w| Shape::from_name(w) as usize).sum();
    println!("{} {} {} {}", words.len(), tree.len(), text.join(","), shapes);
}
