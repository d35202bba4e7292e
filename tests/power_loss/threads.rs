//! The threads that ranks start, and what threads wait for: a seed orders them, too. This test program has functions of the names that
//! the standard library calls in libc to start a thread, to wait for its end, and to wait for what another thread changes (a futex) or sends.

use crate::schedule::{Call, Own};
use libc::{c_char, c_int, c_long, c_void, msghdr, pthread_attr_t, pthread_t, ssize_t};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A function of libc that this program has another one of.
struct Real {
    name: &'static std::ffi::CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    const fn new(name: &'static std::ffi::CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        let name: *const c_char = self.name.as_ptr();
        // SAFETY: a string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
        assert!(!found.is_null());
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

static CREATE: Real = Real::new(c"pthread_create");
static JOIN: Real = Real::new(c"pthread_join");
static RECVMSG: Real = Real::new(c"recvmsg");
static SYSCALL: Real = Real::new(c"syscall");

type Main = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Main, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
type Recvmsg = unsafe extern "C" fn(c_int, *mut msghdr, c_int) -> ssize_t;
type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

/// What a thread of a schedule begins with.
struct Start {
    own: Own,
    main: Main,
    argument: *mut c_void,
}

extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: of a box that nobody else has.
    let Start { own, main, argument } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    own.begin();
    let result = main(argument);
    own.finish();
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    main: Main,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the function has this type.
    let create = unsafe { transmute::<*mut c_void, Create>(CREATE.address()) };
    let Some(parent) = Own::get() else {
        // SAFETY: as the caller promises.
        return unsafe { create(thread, attributes, main, argument) };
    };
    if matches!(parent.call(), Call::Fails(errno) if errno != libc::EINTR) {
        return libc::EAGAIN;
    }
    let own = parent.start();
    let start = Box::into_raw(Box::new(Start { own: own.clone(), main, argument }));
    // SAFETY: the thread gets the box; all else is as the caller promises.
    let error = unsafe { create(thread, attributes, begin, start.cast()) };
    assert_eq!(error, 0, "starting a thread");
    // SAFETY: it was filled.
    own.set_handle(unsafe { *thread });
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    if let Some(own) = Own::get() {
        own.join(thread);
    }
    // SAFETY: the function has this type.
    let join = unsafe { transmute::<*mut c_void, Join>(JOIN.address()) };
    // SAFETY: as the caller promises.
    unsafe { join(thread, result) }
}

/// What another thread sends comes after that one has had its turn.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the function has this type.
    let recvmsg = unsafe { transmute::<*mut c_void, Recvmsg>(RECVMSG.address()) };
    let Some(own) = Own::get() else {
        // SAFETY: as the caller promises.
        return unsafe { recvmsg(socket, message, flags) };
    };
    // SAFETY: the place of this thread.
    let errno = unsafe { libc::__errno_location() };
    if let Call::Fails(error) = own.call() {
        // SAFETY: it may be written to.
        unsafe { *errno = error };
        return -1;
    }
    loop {
        // SAFETY: as the caller promises.
        let received = unsafe { recvmsg(socket, message, flags | libc::MSG_DONTWAIT) };
        // SAFETY: it may be read.
        if received >= 0 || unsafe { *errno } != libc::EAGAIN || !own.pass_on() {
            return received;
        }
    }
}

/// In libc its number of arguments varies. As here, the callers pass each one in a register, but for the last.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_futex
        && let Some(own) = Own::get()
    {
        let operation = b as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
        let done = match operation {
            libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
                // SAFETY: whoever waits passes the address of such a number.
                let place = unsafe { AtomicU32::from_ptr(a as *mut u32) };
                own.wait(place, c as u32)
            }
            // A rank's thread that ends waits outside of the schedule, for locks of the standard library.
            libc::FUTEX_WAKE => own.wake(a, c).filter(|&woken| woken as usize >= c),
            _ => None,
        };
        if let Some(result) = done {
            return result;
        }
    }
    // SAFETY: the function has this type.
    let syscall = unsafe { transmute::<*mut c_void, Syscall>(SYSCALL.address()) };
    // SAFETY: as the caller promises; the call of the system looks at no more arguments than it has.
    unsafe { syscall(number, a, b, c, d, e, f) }
}
