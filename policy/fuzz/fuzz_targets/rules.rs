//! Any bytes as a rule file.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[global_allocator]
static BOUNDED: policy_fuzz::Bounded = policy_fuzz::Bounded;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        policy_fuzz::load_and_ask(text.to_owned());
    }
});
