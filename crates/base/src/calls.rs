//! The function of a binding that the program has called, for messages.

use std::cell::Cell;

thread_local! {
    static CALLED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Ends a call when it is dropped.
#[must_use]
pub struct CallGuard(Option<&'static str>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        CALLED.set(self.0);
    }
}

/// Begins a call on this thread. `place` is the [type name](std::any::type_name) of a closure in a function
/// whose name begins with `scda_`. A call within another one keeps the name of the outer one.
#[inline]
pub fn begin(place: &'static str) -> CallGuard {
    let outer = CALLED.get();
    CALLED.set(outer.or(Some(place)));
    CallGuard(outer)
}

/// The name of the function that the program has called on this thread, if a binding has said so.
#[must_use]
pub fn called() -> Option<&'static str> {
    name_of(place()?)
}

/// The [type name](std::any::type_name) of a closure in that function: see [`name_of`].
#[inline]
#[must_use]
pub fn place() -> Option<&'static str> {
    CALLED.get()
}

/// The name of the function at a [`place`].
#[must_use]
pub fn name_of(place: &'static str) -> Option<&'static str> {
    let parts = place.split([':', '<', '>', ',', ' ']).rev();
    // Neither the crate of the binding nor a type is a function.
    parts.filter(|part| part.starts_with("scda_")).find(|part| *part != "scda_c" && !part.ends_with("_t"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::type_name_of_val;

    fn scda_fwrite_group<T>(_: T) -> Option<&'static str> {
        let body = |_: &T| ();
        let _call = begin(type_name_of_val(&body));
        called()
    }

    #[test]
    fn the_outer_function_is_named() {
        assert_eq!(called(), None);
        {
            let _call = begin("scda_c::context::close::{{closure}}");
            assert_eq!(called(), None);
        }
        assert_eq!(scda_fwrite_group(0), Some("scda_fwrite_group"));
        let _outer = begin("scda_c::context::with<scda_c::open::scda_fopen::{{closure}}>::{{closure}}");
        assert_eq!(scda_fwrite_group("text"), Some("scda_fopen"));
    }
}
