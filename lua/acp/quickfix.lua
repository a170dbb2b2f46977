--- `:Acp review!`: all hunks in the quickfix list.

--- Puts all hunks into the quickfix list and opens it.
return function()
  local items = vim.tbl_map(function(hunk)
    return {
      filename = hunk.path,
      lnum = hunk.row + 1,
      text = ("-%d +%d  %s%s"):format(
        #hunk.old,
        #hunk.new,
        hunk.state == "pending" and "" or hunk.state .. ": ",
        hunk.new[1] or hunk.old[1] or ""
      ),
    }
  end, require("acp").review.hunks())
  if #items == 0 then
    local native = require("acp.loaded")()
    local count = native and native.review_files() or 0
    local text = count == 0 and "Nothing to review."
      or count == 1 and "No hunks; 1 file changed as a whole: `:Acp review` lists it."
      or ("No hunks; %d files changed as a whole: `:Acp review` lists them."):format(count)
    return require("acp.notify").say(text)
  end
  vim.fn.setqflist({}, " ", { title = "acp review", items = items })
  -- The chat's column is too narrow for it.
  vim.cmd("botright copen")
end
