--- Lets the user choose from a list, as `vim.ui.select` does; `<C-c>` chooses nothing.

---@generic T
---@param items T[]
---@param opts table
---@param on_choice fun(item: T?, index: integer?)
return function(items, opts, on_choice)
  local ok, problem = pcall(vim.ui.select, items, opts, on_choice)
  if ok then
    return
  elseif not tostring(problem):find("Keyboard interrupt", 1, true) then
    error(problem, 0)
  end
  on_choice(nil, nil)
end
