/* The functions of libgcc_s that unwind stacks, for the linker alone: without a library that has
 * them, zig puts an unwinder of its own into ours. An error of Lua's is unwound by Neovim's
 * libgcc_s through our frames, and their personality must ask that same unwinder. */
#define HERE(name) void name(void) {}
HERE(_Unwind_Backtrace)
HERE(_Unwind_DeleteException)
HERE(_Unwind_FindEnclosingFunction)
HERE(_Unwind_ForcedUnwind)
HERE(_Unwind_GetCFA)
HERE(_Unwind_GetDataRelBase)
HERE(_Unwind_GetGR)
HERE(_Unwind_GetIP)
HERE(_Unwind_GetIPInfo)
HERE(_Unwind_GetLanguageSpecificData)
HERE(_Unwind_GetRegionStart)
HERE(_Unwind_GetTextRelBase)
HERE(_Unwind_RaiseException)
HERE(_Unwind_Resume)
HERE(_Unwind_Resume_or_Rethrow)
HERE(_Unwind_SetGR)
HERE(_Unwind_SetIP)
