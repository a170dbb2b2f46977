--- The SHA-256 of each archive of this version; `install.sh` installs no other. `make dist` writes
--- this file. Empty between releases: then the library is built from source.
---@type table<string, string>
return {}
