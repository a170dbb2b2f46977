--- Lets things go along with the next prompt: the bodies of `:Acp attach` and `:Acp detach`.

local M = {}

--- Attaches a file by its path, lines, or the image in the clipboard; opens a session first while
--- there is none. The arguments are checked already.
---@param what string|acp.Context|nil
---@param session acp.Session?
function M.attach(what, session)
  local native = require("acp.native").load()
  if not session and native.status(nil).phase == "none" then
    session = require("acp.session").open({})
  end
  if type(what) == "string" then
    what = vim.fs.normalize(vim.fn.fnamemodify(what, ":p"), { expand_env = false })
  end
  native.attach(session, what)
end

--- Runs `:Acp attach`: of a file, else of the command's range, else of the clipboard.
---@param call acp.commands.Call
function M.attach_command(call)
  if call.rest == "" then
    return M.attach(call.context)
  end
  -- As Neovim's own commands take a file: `%`, `~` and `$VAR` mean something, blanks are part of it.
  local path = vim.fn.expand(call.rest) --[[@as string]]
  M.attach(path ~= "" and path or call.rest)
end

--- Runs `:Acp detach`: of one attachment by its number, or of all.
---@param call acp.commands.Call
function M.detach_command(call)
  local number = tonumber(call.rest)
  if call.rest ~= "" and (not number or number < 1 or number % 1 ~= 0) then
    local text = "acp.nvim: %q is not an attachment's number; they stand above the input."
    error(text:format(call.rest), 0)
  end
  require("acp").detach(number)
end

--- Completes the numbers of attachments.
---@return string[]
function M.numbers()
  local numbers = {}
  for number in ipairs(require("acp").status().attached or {}) do
    table.insert(numbers, tostring(number))
  end
  return numbers
end

return M
