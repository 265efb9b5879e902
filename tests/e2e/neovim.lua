-- Opens a file, waits for a diagnostic, hovers over it and applies its quick fix, as a user would with keys.
-- Told what to do, and tells what it saw, in JSON: NEOVIM_JOB holds the first, its "report" names the file for
-- the second. Works with Neovim 0.7 and later.

local job = vim.json.decode(vim.env.NEOVIM_JOB)
local report = {}

local function finish(problem)
  report.problem = problem
  local file = assert(io.open(job.report, 'w'))
  file:write(vim.json.encode(report))
  file:close()
  vim.cmd(problem and 'cquit!' or 'qall!')
end

local function await(what, condition)
  if not vim.wait(job.patience_ms, condition, 50) then
    finish('waited in vain for ' .. what)
  end
end

local function lines(buffer)
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

local function floating_window()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return window
    end
  end
end

local function on_finding(finding)
  vim.api.nvim_win_set_cursor(0, { finding.lnum + 1, finding.col })
end

-- Whatever is offered, choose the job's action.
vim.ui.select = function(items, _, choose)
  report.actions = vim.tbl_map(function(item) return (item.action or item[2]).title end, items)
  for index, title in ipairs(report.actions) do
    if title == job.action then
      return choose(items[index], index)
    end
  end
  finish('the action is not offered')
end

local function run()
  vim.cmd('edit ' .. vim.fn.fnameescape(job.file))
  vim.bo.filetype = 'python'
  local client = vim.lsp.start_client({ name = 'warplint', cmd = job.server, root_dir = job.root })
  vim.lsp.buf_attach_client(0, client)

  local function measured()
    return vim.tbl_filter(function(found) return found.message:find('Measured') end, vim.diagnostic.get(0))[1]
  end
  await('a measured diagnostic', measured)
  local finding = measured()
  report.diagnostic = { line = finding.lnum, column = finding.col, source = finding.source, message = finding.message }

  on_finding(finding)
  vim.lsp.buf.hover()
  await('a hover', floating_window)
  report.hover = lines(vim.api.nvim_win_get_buf(floating_window()))
  vim.api.nvim_win_close(floating_window(), true)

  on_finding(finding)
  local before = lines(0)
  vim.lsp.buf.code_action()
  await('the quick fix', function() return not vim.deep_equal(lines(0), before) end)
  report.text = lines(0)
  await('the diagnostic to go', function() return measured() == nil end)

  vim.lsp.stop_client(client)
  await('the server to stop', function() return vim.lsp.client_is_stopped(client) end)
end

local done, problem = pcall(run)
finish(not done and problem or nil)
