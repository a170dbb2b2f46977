local support = require("support")
local same = support.same

--- What the library says completes "see @ma": it begins at the byte 4.
local found = {
  start = 4,
  items = {
    { word = "@src/main.rs", kind = "file", menu = "open", equal = 1, dup = 1 },
    { word = "@src/map.rs", kind = "file", menu = "", equal = 1, dup = 1 },
  },
}

--- Puts a library in place that completes so, in a buffer that is an input.
local function input(before)
  vim.cmd.enew()
  vim.bo.filetype = "acp-input"
  vim.api.nvim_set_current_line(before)
  vim.api.nvim_win_set_cursor(0, { 1, #before })
  local calls = support.fake({ complete = found })
  require("acp.native").load()
  return calls
end

--- Fails unless these are the items' words and the columns they replace.
local function check(items, from, to)
  same(
    { { "@src/main.rs", from, to }, { "@src/map.rs", from, to } },
    vim.tbl_map(function(item)
      local range = item.textEdit.range
      return { item.textEdit.newText, range.start.character, range["end"].character }
    end, items)
  )
end

return function(test)
  test("the omnifunc tells where it begins, and then what there is", function()
    local calls = input("see @ma")
    same(4, require("acp").complete(1, ""))
    same({ "complete", vim.api.nvim_get_current_buf(), 0, "see @m" }, calls[1])
    vim.api.nvim_set_current_line("see ")
    -- Neovim asks again after each key: the items are not narrowed by it.
    same({ words = found.items, refresh = "always" }, require("acp").complete(0, "@ma"))
  end)

  test("where nothing completes, the omnifunc leaves in silence", function()
    support.fake()
    same(-3, require("acp").complete(1, ""))
  end)

  test("blink.cmp gets a source for inputs", function()
    input("")
    local told = {}
    package.loaded["blink.cmp"] = {
      add_source_provider = function(name, provider)
        table.insert(told, { name, provider.module })
      end,
      add_filetype_source = function(filetype, name)
        table.insert(told, { filetype, name })
      end,
    }
    local buf = vim.api.nvim_get_current_buf()
    same(true, require("acp.completion").hand_over(buf))
    same(true, require("acp.completion").hand_over(buf))
    package.loaded["blink.cmp"] = nil
    same({ { "acp", "acp.completion.blink" }, { "acp-input", "acp" } }, told)
    local source = require("acp.completion.blink").new()
    same(true, source:enabled())
    local items
    source:get_completions({ cursor = { 1, 8 }, line = "sée @ma" }, function(response)
      items = response.items
    end)
    check(items, 4, 8)
  end)

  test("nvim-cmp gets a source before the user's own", function()
    input("")
    local told = {}
    package.loaded["cmp"] = {
      register_source = function(name)
        table.insert(told, name)
      end,
      get_config = function()
        return { sources = { { name = "path" } } }
      end,
      setup = {
        buffer = function(config)
          table.insert(told, config)
        end,
      },
    }
    same(true, require("acp.completion").hand_over(vim.api.nvim_get_current_buf()))
    package.loaded["cmp"] = nil
    same({ "acp", { sources = { { name = "acp" }, { name = "path" } } } }, told)
  end)

  test("symbols of a server may have nulls, which Neovim 0.12 passes on", function()
    local range = { start = { line = 2, character = 0 }, ["end"] = { line = 4, character = 0 } }
    local outer = { name = "outer", kind = 12, range = range, children = vim.NIL }
    local odd = { name = "odd", kind = 12, range = vim.NIL, children = { outer } }
    local clients, request = vim.lsp.get_clients, vim.lsp.buf_request_all
    vim.lsp.get_clients = function()
      return { {} }
    end
    vim.lsp.buf_request_all = function(_, _, _, done)
      done({ { result = { vim.NIL, odd } }, { result = vim.NIL } })
    end
    vim.cmd.enew()
    local ok, found = pcall(require("acp.symbols").find, "outer")
    vim.lsp.get_clients, vim.lsp.buf_request_all = clients, request
    same({ true, "outer", 2, 5 }, { ok, found.name, found.first, found.last })
  end)

  test("without another plugin the menu is Neovim's", function()
    input("")
    same(false, require("acp.completion").hand_over(vim.api.nvim_get_current_buf()))
  end)
end
