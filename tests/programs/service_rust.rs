// SPDX-License-Identifier: MIT
//! An HTTP service as Rust programs are: a thread per connection, an Arc'd map, iterators, format!,
//! a panic that is caught. Answers depend on the request alone. "/quit" ends it.
//!
//!   /words/TEXT  how often each word occurs      /sort/TEXT  its characters in order
//!   /panic/TEXT  what a caught panic said        /keep/TEXT  length; the text is kept in the map

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Store = Arc<Mutex<HashMap<String, Arc<str>>>>;

fn words(text: &str) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in text.split('+') {
        *counts.entry(word.to_string()).or_default() += 1;
    }
    counts.iter().map(|(word, count)| format!("{word}={count}\n")).collect()
}

fn sort(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters.into_iter().rev().collect::<String>() + "\n"
}

fn keep(store: &Store, text: &str) -> String {
    let mut map = store.lock().unwrap();
    if map.len() > 10_000 {
        map.clear();
    }
    let kept: Arc<str> = Arc::from(text);
    let key = format!("{}{}", text, map.len());
    map.insert(key, kept.clone());
    format!("{}\n", kept.len())
}

fn fail(text: &str) -> String {
    let owned = text.to_string();
    let caught = std::panic::catch_unwind(move || -> usize {
        let parts: Vec<String> = owned.split('+').map(str::to_string).collect();
        std::panic::resume_unwind(Box::new(format!("cannot handle {}", parts.join(" "))))
    });
    match caught {
        Ok(n) => format!("{n}\n"),
        Err(problem) => format!("error: {}\n", problem.downcast_ref::<String>().unwrap()),
    }
}

fn answer(store: &Store, path: &str) -> String {
    let mut parts = path[1..].splitn(2, '/');
    let what = parts.next().unwrap_or("");
    let text = parts.next().unwrap_or("");
    match what {
        "words" => words(text),
        "sort" => sort(text),
        "keep" => keep(store, text),
        _ => fail(text),
    }
}

fn serve(stream: TcpStream, store: Store, stop: Arc<AtomicBool>, port: u16) -> std::io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut path = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().unwrap_or("/").to_string();
        }
        if !line.is_empty() {
            continue;
        }
        let body = answer(&store, &path);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: keep-alive\r\n\r\n",
            body.len()
        );
        output.write_all((head + &body).as_bytes())?;
        if path == "/quit" {
            stop.store(true, Ordering::SeqCst);
            output.shutdown(Shutdown::Both)?;
            drop(TcpStream::connect(("127.0.0.1", port)));
            break;
        }
    }
    Ok(())
}

fn main() {
    let port: u16 = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(8080);
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("bind");
    let store: Store = Arc::default();
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let (store, stop) = (store.clone(), stop.clone());
        threads.push(std::thread::spawn(move || {
            let _ = serve(stream.expect("accept"), store, stop, port);
        }));
    }
    for thread in threads {
        thread.join().expect("join");
    }
    println!("served");
}
