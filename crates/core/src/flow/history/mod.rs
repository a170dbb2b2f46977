//! Records of sessions, where other rooms have a part in them.

mod keep;
mod past;
mod reopen;
