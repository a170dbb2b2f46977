--- Attachments of the next prompt: the bodies of `:Acp attach` and `:Acp detach`.

local M = {}

--- Attaches a file, lines, or the image in the clipboard; opens a session if there is none. The
--- arguments are already checked.
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

--- Runs `:Acp attach` for a file or the clipboard, else the command's range, else the current file.
---@param call acp.commands.Call
function M.attach_command(call)
  if call.rest == "clipboard" then
    return M.attach(nil)
  elseif call.rest == "" and call.context then
    return M.attach(call.context)
  elseif call.rest == "" then
    local name = vim.bo.buftype == "" and vim.api.nvim_buf_get_name(0) or ""
    if name == "" then
      local text = "acp.nvim: this window shows no file: name one, or use `:Acp attach clipboard`."
      error(text, 0)
    end
    return M.attach(name)
  end
  -- Like Neovim's own commands: `%`, `~` and `$VAR` are expanded, blanks are part of the name.
  local path = vim.fn.expand(call.rest) --[[@as string]]
  M.attach(path ~= "" and path or call.rest)
end

--- Runs `:Acp detach` for the attachment with a number, or for all.
---@param call acp.commands.Call
function M.detach_command(call)
  local number = tonumber(call.rest)
  if call.rest ~= "" and (not number or number < 1 or number % 1 ~= 0) then
    local text =
      "acp.nvim: %q is not an attachment's number; the numbers are shown above the input."
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
