-- Runs every *_spec.lua beside this file: nvim --clean --headless -l tests/lua/run.lua
local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ":p")))
local root = vim.fs.dirname(vim.fs.dirname(here))
vim.opt.runtimepath:prepend(root)
vim.o.showmode = false
package.path = here .. "/?.lua;" .. package.path

local passed, failed = 0, 0
local specs = vim.fn.sort(vim.fn.glob(here .. "/*_spec.lua", true, true))
for _, spec in ipairs(specs) do
  dofile(spec)(function(name, body)
    local ok, problem = xpcall(function()
      require("support").fresh()
      body()
    end, debug.traceback)
    passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
    if not ok then
      io.stdout:write(("FAILED %s: %s\n%s\n\n"):format(vim.fs.basename(spec), name, problem))
    end
  end)
end
io.stdout:write(("%d passed, %d failed, in %d files\n"):format(passed, failed, #specs))
os.exit(failed == 0 and passed > 0 and 0 or 1)
