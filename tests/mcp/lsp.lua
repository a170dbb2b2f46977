--- A language server in Neovim itself, for the current buffer: it knows the word "alpha" of
--- `code.txt`, defined on its first line and used on its second one.
local buf = vim.api.nvim_get_current_buf()
local uri = vim.uri_from_bufnr(buf)

local function range(line, from, to)
  return { start = { line = line, character = from }, ["end"] = { line = line, character = to } }
end

local first, second = range(0, 0, 5), range(1, 5, 10)
local answers = {
  initialize = function()
    return {
      capabilities = {
        textDocumentSync = 1,
        definitionProvider = true,
        referencesProvider = true,
        hoverProvider = true,
        documentSymbolProvider = true,
        workspaceSymbolProvider = true,
        renameProvider = true,
        codeActionProvider = true,
      },
    }
  end,
  ["textDocument/definition"] = function()
    return { { uri = uri, range = first } }
  end,
  ["textDocument/references"] = function()
    return { { uri = uri, range = first }, { uri = uri, range = second } }
  end,
  ["textDocument/hover"] = function()
    return { contents = { kind = "markdown", value = "the first letter" } }
  end,
  ["textDocument/documentSymbol"] = function()
    return { { name = "alpha", kind = 12, range = first, selectionRange = first } }
  end,
  ["workspace/symbol"] = function()
    return { { name = "alpha", kind = 12, location = { uri = uri, range = first } } }
  end,
  ["textDocument/rename"] = function(params)
    local new = params.newName
    local edits = { { range = first, newText = new }, { range = second, newText = new } }
    return { changes = { [uri] = edits } }
  end,
  ["textDocument/codeAction"] = function()
    local edit = { changes = { [uri] = { { range = range(1, 0, 4), newText = "BETA" } } } }
    return { { title = "Shout", kind = "quickfix", edit = edit } }
  end,
}

vim.lsp.start({
  name = "letters",
  root_dir = vim.fn.getcwd(),
  cmd = function(dispatchers)
    local closing, id = false, 0
    return {
      request = function(method, params, callback)
        id = id + 1
        local answer = answers[method]
        vim.schedule(function()
          callback(nil, answer and answer(params) or vim.NIL)
        end)
        return true, id
      end,
      notify = function(method)
        if method == "exit" then
          dispatchers.on_exit(0, 0)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
      end,
    }
  end,
})
