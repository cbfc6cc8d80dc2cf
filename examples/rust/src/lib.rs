// SPDX-License-Identifier: MIT
//! Scopes of the heap profiler seep: what this thread allocates while one is open is counted under its
//! tag. Nothing has to be linked. Under `seep run` the functions of libseep.so are there, otherwise each
//! of these is a load and a branch. What is counted: docs/scopes.md of seep.
//!
//! ```
//! fn handle(tenant: &str) {
//!     seep::scope!(format_args!("tenant={tenant}")); // to the end of the block
//!     parse();
//! }
//!
//! fn parse() {
//!     seep::function_scope!(); // the tag "parse"
//! }
//! # handle("red");
//! ```

use std::ffi::c_void;
use std::fmt::{self, Write};
use std::future::Future;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_uint};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

/// A function of libseep.so, looked for at its first call.
struct Function {
    name: &'static str, // ends with \0
    address: AtomicUsize,
}

const UNKNOWN: usize = 1;

impl Function {
    const fn named(name: &'static str) -> Self {
        Function { name, address: AtomicUsize::new(UNKNOWN) }
    }

    /// 0: the library is not there.
    #[inline]
    fn address(&self) -> usize {
        match self.address.load(Relaxed) {
            UNKNOWN => self.look_up(),
            known => known,
        }
    }

    #[cold]
    fn look_up(&self) -> usize {
        extern "C" {
            fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        }
        // SAFETY: the name ends with \0; NULL is RTLD_DEFAULT.
        let found = unsafe { dlsym(std::ptr::null_mut(), self.name.as_ptr().cast()) } as usize;
        self.address.store(found, Relaxed);
        found
    }
}

static ENTER: Function = Function::named("seep_rt_scope_enter\0");
static LEAVE: Function = Function::named("seep_rt_scope_leave\0");
static BEGIN: Function = Function::named("seep_rt_scope_begin\0");
static MOVE: Function = Function::named("seep_rt_scope_move\0");

type EnterFn = unsafe extern "C" fn(*const Tag, *const c_void);
type LeaveFn = unsafe extern "C" fn(*const c_void);
type BeginFn = unsafe extern "C" fn(*const c_char) -> u64;
type MoveFn = unsafe extern "C" fn(c_uint, u64) -> c_int;

/// A tag where it is written: `struct seep_tag` of seep.h. For the macros.
#[doc(hidden)]
#[repr(C)]
pub struct Tag {
    text: *const c_char,
    number: AtomicU32,
}

// SAFETY: the text is never written to.
unsafe impl Sync for Tag {}

impl Tag {
    /// The text has to end with \0.
    #[doc(hidden)]
    pub const fn new(text: &'static str) -> Self {
        assert!(text.as_bytes()[text.len() - 1] == 0);
        Tag { text: text.as_ptr().cast(), number: AtomicU32::new(0) }
    }
}

/// The 63 bytes of a tag that count, and \0; made without allocating.
struct Text {
    bytes: [u8; 64],
    length: usize,
}

impl Text {
    fn of(tag: impl fmt::Display) -> Self {
        let mut text = Text { bytes: [0; 64], length: 0 };
        let _ = write!(text, "{tag}"); // an error: that was all that counts
        text
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..63];
        let count = more.len().min(room.len());
        room[..count].copy_from_slice(&more.as_bytes()[..count]);
        self.length += count;
        if count < more.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// What the library knows a scope by: its address, so it stays where it is. For the macros.
#[doc(hidden)]
pub struct Place {
    _byte: u8,
}

impl Place {
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Place { _byte: 0 }
    }

    fn address(&self) -> *const c_void {
        (self as *const Place).cast()
    }

    #[doc(hidden)]
    #[inline]
    pub fn enter(&self, tag: &'static Tag) -> Scope<'_> {
        let address = ENTER.address();
        if address != 0 {
            self.call_enter(address, tag);
        }
        Scope { place: (address != 0).then_some(self), in_its_thread: PhantomData }
    }

    #[doc(hidden)]
    #[inline]
    pub fn enter_named(&self, tag: impl fmt::Display) -> Scope<'_> {
        let address = ENTER.address();
        if address != 0 {
            let text = Text::of(tag);
            let tag = Tag { text: text.bytes.as_ptr().cast(), number: AtomicU32::new(0) };
            self.call_enter(address, &tag);
        }
        Scope { place: (address != 0).then_some(self), in_its_thread: PhantomData }
    }

    fn call_enter(&self, address: usize, tag: &Tag) {
        // SAFETY: the function has this type, and reads the tag only while it runs.
        unsafe { std::mem::transmute::<usize, EnterFn>(address)(tag, self.address()) }
    }
}

/// A scope, left when it is dropped, also by a panic: what [`scope!`] and [`function_scope!`] declare.
/// It cannot go to another thread; a [`Task`] can.
pub struct Scope<'a> {
    place: Option<&'a Place>,
    in_its_thread: PhantomData<*const ()>,
}

impl Drop for Scope<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // SAFETY: it was entered, so all of the library's functions are there.
            unsafe { std::mem::transmute::<usize, LeaveFn>(LEAVE.address())(place.address()) }
        }
    }
}

/// Counts what this thread does from here to the end of the block under a tag: a literal, or whatever can
/// be displayed, of which the first 63 bytes count.
#[macro_export]
macro_rules! scope {
    ($tag:literal) => {
        let place = $crate::Place::new();
        let _scope = {
            static TAG: $crate::Tag = $crate::Tag::new(concat!($tag, "\0"));
            place.enter(&TAG)
        };
    };
    ($tag:expr) => {
        let place = $crate::Place::new();
        let _scope = place.enter_named($tag);
    };
}

/// The same under the name of the function, without its path.
#[macro_export]
macro_rules! function_scope {
    () => {
        let place = $crate::Place::new();
        let _scope = {
            fn inner() {}
            place.enter_named($crate::name_of_outer(inner))
        };
    };
}

/// The function in which `inner` stands, or that of the closure. For the macro.
#[doc(hidden)]
pub fn name_of_outer<T>(_inner: T) -> &'static str {
    let path = std::any::type_name::<T>();
    path.rsplit("::").filter(|name| !name.starts_with('{')).nth(1).unwrap_or(path)
}

const END: c_uint = 0;
const SUSPEND: c_uint = 1;
const RESUME: c_uint = 2;

/// A scope that moves between threads: a request, a task. It is open while what [`Task::enter`] returned
/// lives, and ends when it is dropped. 16,384 at a time are counted.
pub struct Task {
    handle: u64, // 0: none
}

impl Task {
    pub fn new(tag: impl fmt::Display) -> Self {
        let mut task = Task { handle: 0 };
        let address = BEGIN.address();
        if address != 0 {
            let text = Text::of(tag);
            // SAFETY: the function has this type, and reads the text only while it runs.
            task.handle = unsafe {
                std::mem::transmute::<usize, BeginFn>(address)(text.bytes.as_ptr().cast())
            };
            task.tell(SUSPEND);
        }
        task
    }

    /// This thread works on it as long as the result lives.
    pub fn enter(&mut self) -> Entered<'_> {
        self.tell(RESUME);
        Entered { task: self, in_its_thread: PhantomData }
    }

    /// A future that is polled in it.
    pub fn wrap<F: Future>(self, future: F) -> InTask<F> {
        InTask { future, task: self }
    }

    fn tell(&self, what: c_uint) {
        if self.handle != 0 {
            // SAFETY: there is a handle, so all of the library's functions are there.
            unsafe {
                std::mem::transmute::<usize, MoveFn>(MOVE.address())(what, self.handle);
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.tell(END);
    }
}

/// Of [`Task::enter`].
pub struct Entered<'a> {
    task: &'a mut Task,
    in_its_thread: PhantomData<*const ()>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.task.tell(SUSPEND);
    }
}

/// Of [`Task::wrap`]. What the future holds is freed before the task ends, but outside of it.
pub struct InTask<F> {
    future: F,
    task: Task,
}

impl<F: Future> Future for InTask<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is not moved out of what is pinned; the task need not be pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let _entered = this.task.enter();
        future.poll(context)
    }
}
