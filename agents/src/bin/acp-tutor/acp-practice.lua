-- A practice file: change it, break it, delete it.
local M = {}

--- Returns a greeting.
function M.greet(name)
  return "Hello " .. name
end

--- Adds up a list of numbers.
function M.sum(numbers)
  local total = 0
  for _, number in pairs(numbers) do
    total = total + number
  end
  return total
end

--- Counts the words of a text.
function M.count_words(text)
  local count = 0
  for _ in text:gmatch("%S+") do
    count = count + 1
  end
  return count
end

return M
