// SPDX-License-Identifier: MIT
//! Hash tables of Rust's standard library, of many sizes, that a static variable keeps alive; and a
//! block that is lost.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicPtr, Ordering};

type Kept = (
    HashMap<u64, Box<[u8; 100]>>,
    HashSet<String>,
    HashMap<u64, Box<u64>>,
    HashMap<u8, u8>,
    HashMap<[u8; 3], u8>,
    HashSet<()>,
    Vec<HashMap<u32, Box<u32>>>,
);

static KEPT: AtomicPtr<Kept> = AtomicPtr::new(std::ptr::null_mut());

/// Of each number of elements up to some, grown from nothing.
fn grown(most: u32) -> Vec<HashMap<u32, Box<u32>>> {
    (0..most).map(|n| (0..n).map(|i| (i, Box::new(i))).collect()).collect()
}

fn with_gaps(mut map: HashMap<u32, Box<u32>>) -> HashMap<u32, Box<u32>> {
    map.retain(|key, _| key % 10 == 0);
    map
}

fn main() {
    let mut maps = grown(100);

    maps.push(with_gaps((0..10000).map(|i| (i, Box::new(i))).collect()));
    let kept: Kept = (
        (0..1000).map(|i| (i, Box::new([1; 100]))).collect(),
        (0..500).map(|i| format!("string number {i}")).collect(),
        (0..2).map(|i| (i, Box::new(i))).collect(),
        HashMap::with_capacity(100),
        (0..5).map(|i| ([i; 3], i)).collect(),
        std::iter::once(()).collect(),
        maps,
    );
    KEPT.store(Box::into_raw(Box::new(kept)), Ordering::Relaxed);
    std::mem::forget(vec![1u8; 4321]);
    assert!(!KEPT.load(Ordering::Relaxed).is_null());
}
