--- The version of the Lua files; the library's must be the same, and so must Cargo.toml's.
return "0.1.0"
