//! Limits on the plugin's cost to the editor.

use super::talk;

#[test]
fn api_calls_do_not_collect_the_editors_garbage() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    let collected = nvim.lua(
        "local collected = false
        collectgarbage('stop')
        getmetatable(newproxy(true)).__gc = function() collected = true end
        for _ = 1, 10 do
          require('acp').status()
          require('acp').statusline()
        end
        vim.cmd.redraw({ bang = true })
        collectgarbage('restart')
        return collected",
        (),
    );
    assert_eq!(collected, false);
    nvim.quit();
}
