-- Commands and <Plug> mappings. Nothing is required before the first of them is used.
if vim.g.loaded_acp then
  return
end
vim.g.loaded_acp = 1

if vim.fn.has("nvim-0.10") == 0 then
  -- Older ones may lack nvim_create_user_command, so this is plain Vim script.
  for _, name in ipairs({ "AcpChat", "Acp" }) do
    vim.cmd(
      ("command! -nargs=* -bang -range %s echohl ErrorMsg | "):format(name)
        .. "echomsg 'acp.nvim needs Neovim 0.10 or newer: please update Neovim.' | echohl None"
    )
  end
  return
end

vim.api.nvim_create_user_command("AcpChat", function(command)
  require("acp.commands").chat(command)
end, {
  nargs = "?",
  bang = true,
  bar = true,
  range = true,
  desc = "Open or focus the chat with an agent",
  complete = function(...)
    return require("acp.commands").complete_chat(...)
  end,
})

vim.api.nvim_create_user_command("Acp", function(command)
  require("acp.commands").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Prompt, cancel, review, answer: see :help :Acp",
  complete = function(...)
    return require("acp.commands").complete(...)
  end,
})

local map = vim.api.nvim_set_keymap
local go = "<Cmd>execute 'Acp %s' v:count1<CR>"
map("n", "<Plug>(acp-chat)", "<Cmd>AcpChat<CR>", { desc = "Open the chat with an agent" })
map("x", "<Plug>(acp-chat)", ":AcpChat<CR>", { silent = true, desc = "Chat about these lines" })
map("n", "<Plug>(acp-accept-hunk)", "<Cmd>Acp accept hunk<CR>", { desc = "Accept the hunk" })
map("n", "<Plug>(acp-reject-hunk)", "<Cmd>Acp reject hunk<CR>", { desc = "Reject the hunk" })
local lines = { silent = true, desc = "Accept the agent's changes of these lines" }
map("x", "<Plug>(acp-accept-hunk)", ":Acp accept<CR>", lines)
lines.desc = "Reject the agent's changes of these lines"
map("x", "<Plug>(acp-reject-hunk)", ":Acp reject<CR>", lines)
map("n", "<Plug>(acp-next-hunk)", go:format("next"), { desc = "Go to the next hunk" })
map("n", "<Plug>(acp-prev-hunk)", go:format("prev"), { desc = "Go to the previous hunk" })
map("n", "<Plug>(acp-follow)", "<Cmd>Acp follow<CR>", { desc = "Follow the agent" })
map("n", "<Plug>(acp-mode)", "<Cmd>Acp mode<CR>", { desc = "Choose the agent's mode" })
-- A question may come up in any mode.
local ask = "<C-\\><C-n><Cmd>Acp permission<CR>"
for _, mode in ipairs({ "n", "x", "i", "t" }) do
  map(mode, "<Plug>(acp-permission)", ask, { desc = "Go to the permission request" })
  map(mode, "<Plug>(acp-cancel)", "<Cmd>Acp cancel<CR>", { desc = "Cancel the agent's turn" })
end

-- A session file brings back the windows of a chat, but not the chat.
vim.api.nvim_create_autocmd("SessionLoadPost", {
  pattern = "acp://*",
  desc = "Remove the empty windows of chats",
  callback = function(event)
    vim.schedule(function()
      local is_there = vim.api.nvim_buf_is_valid(event.buf)
      if is_there and vim.bo[event.buf].buftype == "" and not vim.bo[event.buf].modified then
        vim.api.nvim_buf_delete(event.buf, {})
      end
    end)
  end,
})
