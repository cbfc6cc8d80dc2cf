// SPDX-License-Identifier: MIT
use std::collections::{HashMap, BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, mpsc};
use std::rc::Rc; use std::cell::RefCell; use std::thread; use std::time::Duration;
struct Conn { _fd: i32, _buf: [u8; 190], _peer: String }
struct Invoice { _id: u64, _sum: [f64; 11] }
struct Node { _name: [u8; 60], next: RefCell<Option<Rc<Node>>> }
struct Reading { _v: [f64; 9] }
trait Job: Send { fn run(&self); }
struct Index(usize); struct Shrink(usize);
impl Job for Index { fn run(&self) { std::mem::forget(vec![1u32; self.0]); } }
impl Job for Shrink { fn run(&self) { std::mem::forget(vec![1u64; self.0].into_boxed_slice()); } }
fn lose<T>(b: T) { std::mem::forget(std::hint::black_box(b)); }
#[inline(never)] fn keep<T>(t: T) -> Arc<T> { let a = Arc::new(t); std::mem::forget(a.clone()); a }
fn accept_conn(i: i32) { lose(Box::new(Conn { _fd: i, _buf: [0; 190], _peer: "p".repeat(70) })); }
fn make_cycle() { let a = Rc::new(Node { _name: [0; 60], next: RefCell::new(None) }); *a.next.borrow_mut() = Some(a.clone()); }
struct Cache { map: HashMap<String, Arc<Invoice>>, old: VecDeque<BTreeMap<u32, String>> }
impl Cache {
    fn insert(&mut self, i: u64) { self.map.insert(format!("invoice number {}", i), Arc::new(Invoice { _id: i, _sum: [0.0; 11] })); }
    fn archive(&mut self, i: u32) { let m: BTreeMap<u32, String> = (0..3).map(|k| (k, format!("archived {} {}", i, k))).collect(); self.old.push_back(m); }
}
fn main() {
    let secs: f64 = std::env::var("SECS").ok().and_then(|s| s.parse().ok()).unwrap_or(20.0);
    let cache = Arc::new(Mutex::new(Cache { map: HashMap::new(), old: VecDeque::new() }));
    let (tx, rx) = mpsc::channel::<Box<dyn Fn() + Send>>();
    let worker = thread::Builder::new().name("worker".into()).spawn(move || { for f in rx { f(); } }).unwrap();
    let jobs: Vec<Box<dyn Job>> = vec![Box::new(Index(123)), Box::new(Shrink(77))];
    for i in 0..(secs * 50.0) as u64 {
        let c = cache.clone();
        tx.send(Box::new(move || { c.lock().unwrap().insert(i); })).unwrap();
        tx.send(Box::new(move || accept_conn(i as i32))).unwrap();
        tx.send(Box::new(|| lose(String::from("x").repeat(345)))).unwrap();
        tx.send(Box::new(|| { let v: Vec<String> = (0..5).map(|k| format!("a text of some length {}", k)).collect(); lose(v); })).unwrap();
        cache.lock().unwrap().archive(i as u32);
        make_cycle();
        lose(keep(Reading { _v: [0.0; 9] })); lose(keep(Invoice { _id: i, _sum: [0.0; 11] }));
        for j in &jobs { j.run(); }
        if i % 25 == 0 { let h = thread::spawn(move || Box::leak(Box::new([i; 31])) as *mut _ as usize); std::hint::black_box(h.join().unwrap() ^ 1); }
        thread::sleep(Duration::from_millis(20));
    }
    drop(tx); worker.join().unwrap();
}
