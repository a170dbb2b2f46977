//! How hunks look.
