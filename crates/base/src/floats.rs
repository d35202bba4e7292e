//! The floating-point environment of the program: its rounding mode, the exceptions it traps, and whether it
//! flushes subnormal numbers to zero. Compilers assume the default environment, and so do the crates that
//! compute with numbers.

use std::hint::black_box;

/// Runs `work` in the default floating-point environment, in which nothing traps, and then restores the
/// program's environment with its exception flags: exceptions that `work` raises are not visible.
///
/// Everything that computes with floating-point numbers, or compares, parses or prints them, must run in
/// here. Copying them needs no environment.
pub fn in_default<T>(work: impl FnOnce() -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    let mut run = || result = work.take().map(|work| work());
    let theirs = Environment::replace();
    // Called through an address that the compiler cannot see: it assumes that computations have no effect but
    // their result, and would move them past anything that it can see through.
    black_box(&mut run as &mut dyn FnMut())();
    drop(theirs);
    let Some(result) = result else { unreachable!("the work was done") };
    result
}

/// The program's environment, which is restored on drop.
struct Environment(platform::Environment);

impl Environment {
    fn replace() -> Self {
        Self(platform::replace())
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        platform::restore(&self.0);
    }
}

/// MXCSR. The x87 unit has a control word of its own, but is used only for `long double`, with which nothing
/// here computes.
#[cfg(all(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")), not(miri)))]
#[allow(unsafe_code)]
mod platform {
    use std::arch::asm;

    pub type Environment = u32;

    /// Rounds to nearest, traps nothing, flushes nothing to zero.
    const DEFAULT: u32 = 0x1f80;
    /// The exception flags.
    const FLAGS: u32 = 0x3f;

    pub fn replace() -> Environment {
        let found = get();
        if found & !FLAGS != DEFAULT {
            set(DEFAULT);
        }
        found
    }

    pub fn restore(environment: &Environment) {
        // Loading the register takes longer than comparing it.
        if get() != *environment {
            set(*environment);
        }
    }

    pub fn get() -> u32 {
        let mut found = 0_u32;
        // SAFETY: stores the register in this variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut found, options(nostack, preserves_flags)) };
        found
    }

    pub fn set(value: u32) {
        // SAFETY: the value is the default, or one that the register had, so the processor supports all its
        // bits.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, readonly)) };
    }
}

/// FPCR, whose default is 0, and FPSR with the exception flags.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(unsafe_code)]
mod platform {
    use std::arch::asm;

    pub type Environment = (u64, u64);

    /// Rounds to nearest, traps nothing, flushes nothing to zero.
    const DEFAULT: u64 = 0;

    pub fn replace() -> Environment {
        let found = get();
        if found.0 != DEFAULT {
            set((DEFAULT, found.1));
        }
        found
    }

    pub fn restore(environment: &Environment) {
        if get() != *environment {
            set(*environment);
        }
    }

    pub fn get() -> Environment {
        let (control, status);
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack, preserves_flags)) };
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpsr", out(reg) status, options(nostack, preserves_flags)) };
        (control, status)
    }

    pub fn set((control, status): Environment) {
        // SAFETY: the value is the default, or one that the register had.
        unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack)) };
        // SAFETY: the register had this value.
        unsafe { asm!("msr fpsr, {}", in(reg) status, options(nostack)) };
    }
}

/// The C library, which does not know modes outside the C standard, such as flushing to zero on 32-bit ARM.
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "x86", target_feature = "sse2"),
    target_arch = "aarch64",
    miri
)))]
#[allow(unsafe_code)]
mod platform {
    use std::ffi::c_int;

    /// `fenv_t`, which is smaller on every system.
    pub type Environment = [u64; 32];

    /// To nearest: 0 on all systems that Rust supports.
    const FE_TONEAREST: c_int = 0;

    unsafe extern "C" {
        fn feholdexcept(environment: *mut Environment) -> c_int;
        fn fesetround(mode: c_int) -> c_int;
        fn fesetenv(environment: *const Environment) -> c_int;
    }

    pub fn replace() -> Environment {
        let mut found = [0; 32];
        // SAFETY: the variable has room for what is stored there.
        unsafe { feholdexcept(&raw mut found) };
        // SAFETY: every rounding mode may be set.
        unsafe { fesetround(FE_TONEAREST) };
        found
    }

    pub fn restore(environment: &Environment) {
        // SAFETY: `feholdexcept` has stored it.
        unsafe { fesetenv(environment) };
    }
}

/// Miri has only the default environment.
#[cfg(miri)]
mod platform {
    pub type Environment = ();

    pub fn replace() {}

    pub fn restore(_: &Environment) {}
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    /// The modes of a program: rounding up, down, or to zero; flushing denormal numbers to zero; trapping
    /// every exception.
    const MODES: [u32; 5] = [0x5f80, 0x3f80, 0x7f80, 0x9fc0, 0x0000];

    /// Runs a test in a mode, and then restores the default.
    fn in_mode<T>(mode: u32, work: impl FnOnce() -> T) -> T {
        let _mine = Environment::replace();
        platform::set(mode);
        let result = work();
        platform::set(0x1f80);
        result
    }

    /// Computations that depend on the mode and raise most exceptions.
    fn compute() -> [u64; 6] {
        let [tenth, tiny, zero, huge] = black_box([0.1_f64, 1e-310, 0.0, 1e308]);
        [tenth * 3.0, tiny * 2.0, tiny / 3.0, zero / black_box(zero), tenth / zero, huge * huge]
            .map(f64::to_bits)
    }

    #[test]
    fn the_work_has_the_default_environment_and_the_program_keeps_its_own() {
        let expected = compute();
        for mode in MODES {
            // An exception that the program has raised remains visible.
            for flags in [0, 0x04, 0x3f] {
                let (found, after) = in_mode(mode | flags, || (in_default(compute), platform::get()));
                assert_eq!(found, expected, "{mode:x}");
                assert_eq!(after, mode | flags, "{mode:x}");
            }
        }
        // Without the guard, the modes have an effect: this test can fail.
        for mode in &MODES[..4] {
            assert_ne!(in_mode(*mode, compute), expected, "{mode:x}");
        }
    }

    #[test]
    fn what_raises_exceptions_does_not_show() {
        let after = in_mode(0x1f80, || {
            in_default(compute);
            platform::get()
        });
        assert_eq!(after, 0x1f80);
    }

    #[test]
    fn a_panic_leaves_the_environment_of_the_program() {
        let after = in_mode(0x5f80, || {
            let caught =
                std::panic::catch_unwind(|| in_default(|| -> u8 { std::panic::resume_unwind(Box::new(7)) }));
            assert!(caught.is_err());
            platform::get()
        });
        assert_eq!(after, 0x5f80);
    }

    #[test]
    fn guards_within_guards_do_nothing() {
        let expected = compute();
        for mode in MODES {
            let found = in_mode(mode, || in_default(|| (in_default(compute), compute())));
            assert_eq!(found, (expected, expected));
        }
    }
}
