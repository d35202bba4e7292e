//! A second library in Rust in one C program, with its own copy of Rust's library.

#[unsafe(no_mangle)]
pub extern "C" fn other_catches() -> i32 {
    std::panic::set_hook(Box::new(|_| ())); // of this copy alone
    std::panic::catch_unwind(|| panic!("to be caught")).is_err().into()
}
