// SPDX-License-Identifier: MIT
//! Requests of two tenants, each a future that is polled by two threads in turn.
//!
//!     cargo build --release --example requests
//!     seep run -o requests.seep target/release/examples/requests
//!     seep report requests.seep --json | jq '.scopes[] | {tag, entries, held_bytes}'
//!
//! Every page of tenant "blue" is kept for good: 40 of 3,000 bytes.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::thread;

static KEPT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Gives way once.
struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn render(tenant: &str) -> Vec<u8> {
    seep::function_scope!();
    vec![tenant.as_bytes()[0]; 3000]
}

fn parse(number: usize) -> Result<String, std::num::ParseIntError> {
    seep::scope!("parse");
    let text = format!("{number}{}", if number % 10 == 9 { "?" } else { "" });
    text.parse::<usize>()?; // a scope may be left in any way
    Ok(text)
}

async fn handle(tenant: &'static str, number: usize) -> bool {
    let page = render(tenant);
    Pause(false).await; // whoever is polled next is somebody else's
    if tenant == "blue" {
        seep::scope!(format_args!("cache of {tenant}"));
        let copy = page.clone();
        KEPT.lock().unwrap().push(copy);
    }
    parse(number).is_ok()
}

struct NoWaker;

impl Wake for NoWaker {
    fn wake(self: Arc<Self>) {}
}

type Request = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Polls each once; returns how many ended well, and those that have not ended.
fn poll_all(requests: Vec<Request>) -> (usize, Vec<Request>) {
    let waker = Arc::new(NoWaker).into();
    let mut context = Context::from_waker(&waker);
    let mut well = 0;
    let mut pending = Vec::new();
    for mut request in requests {
        match request.as_mut().poll(&mut context) {
            Poll::Ready(ok) => well += usize::from(ok),
            Poll::Pending => pending.push(request),
        }
    }
    (well, pending)
}

fn main() {
    let mut well = 0;
    let mut requests: Vec<Request> = Vec::new();
    for number in 0..80 {
        let tenant = if number % 2 == 0 { "red" } else { "blue" };
        let task = seep::Task::new(format_args!("tenant={tenant}"));
        requests.push(Box::pin(task.wrap(handle(tenant, number))));
    }
    while !requests.is_empty() {
        let (more, pending) = thread::spawn(move || poll_all(requests)).join().unwrap();
        well += more;
        requests = pending;
    }
    println!("{well} requests ended well, {} pages are kept", KEPT.lock().unwrap().len());
}
