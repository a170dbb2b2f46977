--- Returns the native module if it is in use, and loads neither the library nor its loader.
---@return acp.Native?
return function()
  -- If even the loader is not loaded, neither is the library.
  local native = package.loaded["acp.native"]
  return native and native.loaded()
end
